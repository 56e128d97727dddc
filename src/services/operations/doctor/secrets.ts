import type { Context } from '../../../context.js'
import { sealedValues } from '../sealed-values.js'
import { opens } from '../secret-key.js'
import type { Check } from './fault.js'

/** Encrypted values that the key of this installation does not open (SEC-257). */
export async function* secrets(ctx: Context): Check {
  for await (const value of sealedValues(ctx.db.write)) {
    if (opens(ctx.encryption, value)) continue
    const repair = async () => {
      await ctx.db.transaction((tx) => value.replace(tx, null))
      return 'removed'
    }
    yield { kind: 'unreadable value', of: value.of, text: 'it was encrypted with a key that is not there: set it again', repair }
  }
}
