/** The service cannot start as it is set up; the message is one line for whoever starts it, and no stack helps. */
export class StartFault extends Error {
  override name = 'StartFault'
}
