import { gemoji } from 'gemoji'

/** The main name of an emoji is the first that begins with a letter: `thumbsup`, not `+1` (AE-3). */
const MAIN_NAMES = new Map(gemoji.flatMap(({ names }) => names.map((name) => [name, names.find((each) => /^[a-z]/.test(each)) ?? name])))

/** The stored name of an emoji, given any of its names; undefined for an unknown name. */
export const mainEmojiName = (name: string): string | undefined => MAIN_NAMES.get(name)

const CHARACTERS = new Map(gemoji.flatMap(({ emoji, names }) => names.map((name) => [name, emoji])))

/** The character of an emoji by any of its names. */
export const emojiOf = (name: string): string | undefined => CHARACTERS.get(name)

/** Emoji whose name begins with a text, or else has it within; the first of them. */
export function emojiNamed(text: string, limit: number): { name: string; emoji: string }[] {
  const all = [...CHARACTERS]
  const found = [...all.filter(([name]) => name.startsWith(text)), ...all.filter(([name]) => name.indexOf(text) > 0)]
  return found.slice(0, limit).map(([name, emoji]) => ({ name, emoji }))
}
