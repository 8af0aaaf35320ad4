import type { Recognition } from '../probing/recognition.js';

/** SGLang was seen to name itself as the owner. */
export const SGLANG_RECOGNITION: Recognition = {
  owners: ['sglang'],
  // Its server info has the path of the model.
  repeatsServedName: true,
  paths: [
    {
      path: '/server_info',
      recognise: (answer) =>
        'page_size' in answer && 'model_path' in answer ? 'has page_size and model_path' : undefined,
    },
  ],
};
