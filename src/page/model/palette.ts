/**
 * Colours of lines, for light and dark: Okabe and Ito's, moved until each two
 * differ for those who see no red, no green or no blue, too. Lines have dashes as well.
 */
export const CHART_COLORS = {
  light: ['#0781c9', '#d55e00', '#006844', '#b45392', '#434d59'],
  dark: ['#93c1f3', '#f0a030', '#3ac894', '#ae6bb4', '#98a3af'],
} as const;
