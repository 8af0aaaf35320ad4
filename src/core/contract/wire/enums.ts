/** The wire's enumerations, as the rooms behind the contract speak them. */
export { EngineKind, EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
