/** Whether this is `npm run test:long`, which repeats tests of random data or of kills at random times more often. */
const long = process.env['ROOST_TEST_ROUNDS'] === 'many'

/** The number of repetitions of a test: `few` in `npm test`, `many` in `npm run test:long`. */
export const rounds = (few: number, many: number): number => (long ? many : few)

/** The seeds for tests of random data: 1, 2, 3 and so on. */
export const seeds = (few: number, many: number): number[] => Array.from({ length: rounds(few, many) }, (_, i) => i + 1)

/** Every `n`th case in `npm test`, starting at index `from`; all cases in `npm run test:long`. */
export const oneIn = <T>(n: number, cases: readonly T[], from = 0): T[] => (long ? [...cases] : cases.filter((_, i) => i % n === from))
