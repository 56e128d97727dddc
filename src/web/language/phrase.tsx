import type { ComponentChildren } from 'preact'
import { type PlacesOf, unfilled } from './language.js'

type Props<Text extends string> = { text: string extends Text ? never : Text } & { [Name in PlacesOf<Text>]: ComponentChildren }

/**
 * A sentence with markup in it: `<Phrase text="opened {when} by {who}" when={…} who={…} />`. A language may have its
 * parts in another order (WB-802).
 */
export function Phrase<const Text extends string>({ text, ...parts }: Props<Text>) {
  const given = parts as Record<string, ComponentChildren>
  return (
    <>
      {unfilled(text)
        .split(/\{(\w+)\}/)
        .map((piece, i) => (i % 2 === 0 ? piece : given[piece]))}
    </>
  )
}
