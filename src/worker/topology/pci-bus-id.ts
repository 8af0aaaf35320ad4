/** `nvidia-smi` writes eight digits for the domain and upper case, sysfs four and lower case. */
const PCI_BUS_ID = /^(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$/i;

/**
 * The one form in which PCI addresses are compared: `0000:06:00.0`, lower
 * case, a domain of at least four digits. Undefined when it is no address.
 */
export function pciBusIdOf(text: string): string | undefined {
  const match = PCI_BUS_ID.exec(text.trim());
  if (match === null) return undefined;
  const [, domain = '0', bus = '', device = '', fn = ''] = match;
  // Domains past ffff exist behind some controllers (VMD): they keep their digits.
  const digits = domain.replace(/^0+/, '').padStart(4, '0');
  return `${digits}:${bus}:${device}.${fn}`.toLowerCase();
}
