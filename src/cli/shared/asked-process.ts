import { openSecurity } from '../../app/open-security.js';
import type { Address } from '../../edge/platform/address.js';
import { RpcDialer } from '../../edge/rpc/channel.js';
import type { CommandContext } from '../command.js';
import type { askedSettings } from '../settings/asked-settings.js';
import type { commonSettings } from '../settings/common-settings.js';
import type { SettingsOf } from '../settings/setting.js';
import { readAddressOperand } from './address-operand.js';

/** The aggregator's own default. */
const DEFAULT_ADDRESS = '127.0.0.1:50060';

/** The running process that a command asks. */
export interface AskedProcess {
  readonly address: Address;
  readonly dialer: RpcDialer;
  /** Ends the watching of certificates. */
  close(): void;
}

/**
 * Makes all ready to ask the process that the operand names; nothing is dialled yet. Rejects with a `SettingError` where the
 * address is none, would be asked in plaintext unasked for, or a certificate cannot be used.
 */
export async function openAskedProcess(
  settings: SettingsOf<typeof askedSettings & typeof commonSettings>,
  context: Pick<CommandContext<typeof askedSettings>, 'clock' | 'logger' | 'operands'>,
): Promise<AskedProcess> {
  const { clock, operands } = context;
  const address = readAddressOperand(operands[0] ?? DEFAULT_ADDRESS, settings);
  const security = await openSecurity(settings, context);
  const dialer = new RpcDialer({ connectTimeoutMs: settings.timeoutMs }, { clock, security });
  return { address, dialer, close: () => security.close() };
}
