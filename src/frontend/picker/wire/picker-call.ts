import type { ProcessingResponse } from '../../../gen/envoy/service/ext_proc/v3/external_processor.js';

/** The gateway's end of one stream, as far as a request needs it. Nothing is read of a gateway that does not read. */
export interface PickerCall {
  /** Sends a message; `onTaken` is called when the transport has it, or never will. */
  write(message: ProcessingResponse, onTaken?: () => void): void;
  /** Ends the stream in order, after what was written; may be called again. */
  end(): void;
}
