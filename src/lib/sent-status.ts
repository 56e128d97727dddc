import type { ServerResponse } from 'node:http'

/** As proxies name it: the client has closed its request. */
const CLIENT_CLOSED = 499

/** The status that the client got of a call which has ended; 499 where it went before the answer. */
export const sentStatus = ({ headersSent, statusCode }: ServerResponse): number => (headersSent ? statusCode : CLIENT_CLOSED)
