import { InvalidArgumentError } from 'commander'

/** Reads a whole number of the command line; `fault` says what a text is not that is none. */
export const numberOr = (fault: string) => (text: string) => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError(fault)
  return Number(text)
}

/** Reads an id. */
export const id = numberOr('It is not an id.')
