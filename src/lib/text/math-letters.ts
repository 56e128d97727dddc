/** Where Unicode has the letters of each variant: A, a and 0; browsers show `mathvariant` no more, but these. */
const STARTS: Record<string, [capitals: number, small: number, digits?: number]> = {
  bold: [0x1d400, 0x1d41a, 0x1d7ce],
  italic: [0x1d434, 0x1d44e],
  'bold-italic': [0x1d468, 0x1d482],
  script: [0x1d49c, 0x1d4b6],
  'bold-script': [0x1d4d0, 0x1d4ea],
  fraktur: [0x1d504, 0x1d51e],
  'double-struck': [0x1d538, 0x1d552, 0x1d7d8],
  'bold-fraktur': [0x1d56c, 0x1d586],
  'sans-serif': [0x1d5a0, 0x1d5ba, 0x1d7e2],
  'bold-sans-serif': [0x1d5d4, 0x1d5ee, 0x1d7ec],
  'sans-serif-italic': [0x1d608, 0x1d622],
  'sans-serif-bold-italic': [0x1d63c, 0x1d656],
  monospace: [0x1d670, 0x1d68a, 0x1d7f6],
}
/** Letters that were in Unicode before, whose places among the others are empty. */
const EARLIER: Record<string, Record<string, string>> = {
  italic: { h: 'ℎ' },
  script: { B: 'ℬ', E: 'ℰ', F: 'ℱ', H: 'ℋ', I: 'ℐ', L: 'ℒ', M: 'ℳ', R: 'ℛ', e: 'ℯ', g: 'ℊ', o: 'ℴ' },
  fraktur: { C: 'ℭ', H: 'ℌ', I: 'ℑ', R: 'ℜ', Z: 'ℨ' },
  'double-struck': { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' },
}

/** A text in the letters of a variant of MathML. */
export function inVariant(text: string, variant: string): string {
  const [capitals, small, digits] = STARTS[variant] ?? []
  if (capitals === undefined || small === undefined) return text
  const moved = (character: string, first: string, start: number) => String.fromCodePoint(start + character.charCodeAt(0) - first.charCodeAt(0))
  return text.replace(/&[a-z#0-9]+;|[A-Za-z0-9]/g, (character) => {
    if (character.length > 1) return character
    const earlier = EARLIER[variant]?.[character]
    if (earlier !== undefined) return earlier
    if (/[A-Z]/.test(character)) return moved(character, 'A', capitals)
    if (/[a-z]/.test(character)) return moved(character, 'a', small)
    return digits === undefined ? character : moved(character, '0', digits)
  })
}
