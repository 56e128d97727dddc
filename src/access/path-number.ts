const MAX = 2_147_483_647

/**
 * Parses an id in a path parameter. Returns 0, which no row has, for a number that is out of range (G-49), and null for
 * text that is not a number.
 */
export function pathNumber(text: string): number | null {
  if (!/^[+-]?\d{1,80}$/.test(text)) return null
  const number = Number(text)
  return number > 0 && number <= MAX ? number : 0
}
