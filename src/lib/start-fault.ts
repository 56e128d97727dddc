/**
 * The service cannot start with this configuration; the message is a single line for the operator, shown without a
 * stack.
 */
export class StartFault extends Error {
  override name = 'StartFault'
}
