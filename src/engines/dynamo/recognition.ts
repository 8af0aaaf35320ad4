import type { Recognition } from '../probing/recognition.js';

/** The system port of a Dynamo worker. The owner "nvidia" is Dynamo's frontend, which is no worker. */
export const DYNAMO_RECOGNITION: Recognition = {
  owners: [],
  foreignOwners: {
    nvidia: "this is Dynamo's frontend, not a worker; give the address of the worker",
  },
  paths: [
    {
      path: '/live',
      recognise(answer, status) {
        const state = answer['status'];
        const isState = state === 'ready' || state === 'notready';
        return (status === 200 || status === 503) && isState && 'endpoints' in answer
          ? `is Dynamo's system status (${state})`
          : undefined;
      },
    },
  ],
};
