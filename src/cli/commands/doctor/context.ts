import type { CommandContext, WithCommon } from '../../command.js';
import type { SettingsOf } from '../../settings/setting.js';
import type { doctorSettings } from './settings.js';

/** The settings of `kv-accord doctor`. */
export type DoctorSettings = SettingsOf<WithCommon<typeof doctorSettings>>;

/** What its body works with. */
export type DoctorContext = CommandContext<typeof doctorSettings>;
