const MAX = 2_147_483_647

/** The number in a path parameter of an access rule; 0, which nothing has, where none of that size is ever given (G-49), and null where it is no number at all. */
export function pathNumber(text: string): number | null {
  if (!/^[+-]?\d{1,80}$/.test(text)) return null
  const number = Number(text)
  return number > 0 && number <= MAX ? number : 0
}
