/** Whether this is `npm run test:long`, which repeats what depends on chance or on the moment of a kill many times. */
const long = process.env['ROOST_TEST_ROUNDS'] === 'many'

/** How often a test repeats itself: `few` times in `npm test`, `many` times in `npm run test:long`. */
export const rounds = (few: number, many: number): number => (long ? many : few)

/** The seeds of a test of random data: 1, 2, 3 and so on. */
export const seeds = (few: number, many: number): number[] => Array.from({ length: rounds(few, many) }, (_, i) => i + 1)

/** One of every `n` cases in `npm test`, all of them in `npm run test:long`; `from` is the place of the first. */
export const oneIn = <T>(n: number, cases: readonly T[], from = 0): T[] => (long ? [...cases] : cases.filter((_, i) => i % n === from))
