import { gemoji } from 'gemoji'

/** The main name of an emoji is the first that begins with a letter: `thumbsup`, not `+1` (AE-3). */
const MAIN = new Map(gemoji.flatMap(({ names }) => names.map((name) => [name, names.find((each) => /^[a-z]/.test(each)) ?? name])))

/** The name that an emoji is stored under, by any of its names; undefined for an unknown name. */
export const mainEmojiName = (name: string): string | undefined => MAIN.get(name)
