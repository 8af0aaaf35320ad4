import { SettingError } from '../../app/setting-error.js';
import { ADDRESS_FORMS, type Address, parseAddress } from '../../edge/platform/address.js';
import { checkDialled } from '../settings/collection-settings.js';
import { quote } from '../settings/wrong-value.js';

/**
 * The address that a command is to ask, as an operand says it. Throws a
 * `SettingError` for what is none, and for one beyond this machine where
 * plaintext was not asked for.
 */
export function readAddressOperand(text: string, settings: Parameters<typeof checkDialled>[1]): Address {
  const address = parseAddress(text);
  const isWrong = address === undefined || (address.type === 'tcp' && address.port === 0);
  const problem = isWrong ? ADDRESS_FORMS : checkDialled(address, settings);
  if (address === undefined || problem !== undefined)
    throw new SettingError(`${quote(text)} (on the command line): must be ${problem}`);
  return address;
}
