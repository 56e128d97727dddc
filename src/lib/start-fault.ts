/** The service cannot start with this set-up; the message is one line for whoever starts it, without a stack. */
export class StartFault extends Error {
  override name = 'StartFault'
}
