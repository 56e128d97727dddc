/** Where a text can be cut: there, or one unit before if the two halves of a character meet there. */
export const wholeEnd = (text: string, at: number): number => ((text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at - 1 : at)
