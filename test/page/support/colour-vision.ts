/** Who sees no red, no green, no blue; and who sees all. */
export type Vision = keyof typeof VISIONS;

/**
 * Linear RGB as it is seen, at full severity: G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, "A Physiologically-based
 * Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009.
 */
const VISIONS = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
} as const;

type Triple = readonly [number, number, number];

/** `#rgb` or `#rrggbb` in linear light, 0 to 1 each. */
function linearOf(color: string): Triple {
  const digits =
    color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit).join('') : color.slice(1);
  const channel = (at: number): number => {
    const value = Number.parseInt(digits.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(0), channel(2), channel(4)];
}

function dot([a, b, c]: Triple, [x, y, z]: Triple): number {
  return a * x + b * y + c * z;
}

function seenAs(color: string, vision: Vision): Triple {
  const linear = linearOf(color);
  const [red, green, blue] = VISIONS[vision];
  const seen = (row: Triple): number => Math.min(1, Math.max(0, dot(row, linear)));
  return [seen(red), seen(green), seen(blue)];
}

/** CIELAB of linear sRGB, with its white (D65). */
function labOf(linear: Triple): Triple {
  const curve = (value: number): number =>
    value > 216 / 24_389 ? Math.cbrt(value) : ((24_389 / 27) * value + 16) / 116;
  const x = curve(dot([0.4124564, 0.3575761, 0.1804375], linear) / 0.95047);
  const y = curve(dot([0.2126729, 0.7151522, 0.072175], linear));
  const z = curve(dot([0.0193339, 0.119192, 0.9503041], linear) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** How far apart two colours look (CIE 1976 ΔE); 2.3 is just noticeable side by side. */
export function distance(a: string, b: string, vision: Vision): number {
  const [x, y] = [labOf(seenAs(a, vision)), labOf(seenAs(b, vision))];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

/** The contrast of WCAG 2, 1 to 21. */
export function contrast(a: string, b: string): number {
  const luminance = (color: string): number => dot([0.2126, 0.7152, 0.0722], linearOf(color));
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}
