import { gemoji } from 'gemoji'

/** The main name of an emoji is the first that begins with a letter: `thumbsup`, not `+1` (AE-3). */
const MAIN_NAMES = new Map(gemoji.flatMap(({ names }) => names.map((name) => [name, names.find((each) => /^[a-z]/.test(each)) ?? name])))

/** The stored name of an emoji, given any of its names; undefined for an unknown name. */
export const mainEmojiName = (name: string): string | undefined => MAIN_NAMES.get(name)

const CHARACTERS = new Map(gemoji.map(({ names, emoji }) => [MAIN_NAMES.get(names[0] as string), emoji]))

/** The character of an emoji, by its stored name; the name if there is none. */
export const emojiCharacter = (name: string): string => CHARACTERS.get(name) ?? `:${name}:`
