import { z } from 'zod'
import { admin, anyone } from '../../access/rules.js'
import { BroadcastMessage, presentBroadcastMessage } from '../../entities/broadcast-message.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, datetime, idPaging, oneOf, opt, rowId, str, updateOf } from '../../http/params.js'
import { createMessage, getMessage, listMessages, removeMessage, updateMessage } from '../../services/core/broadcast-messages.js'

const attributes = {
  starts_at: opt(datetime()),
  ends_at: opt(datetime()),
  color: opt(str()),
  font: opt(str()),
  target_path: opt(str()),
  broadcast_type: opt(oneOf(['banner', 'notification'])),
  dismissable: opt(bool()),
}
const byId = { id: rowId() }

/** Messages for all pages (WB-181). */
export const broadcastMessages = [
  endpoint({
    method: 'GET',
    path: '/broadcast_messages',
    summary: 'List broadcast messages',
    description: 'The newest comes first.',
    access: anyone,
    input: z.object(idPaging),
    output: z.array(BroadcastMessage),
    handler: async ({ ctx, input }) =>
      pageOf(await listMessages(ctx, input), input, (message) => presentBroadcastMessage(message, ctx.now())).inOrderOfIds(input, 'desc'),
  }),
  endpoint({
    method: 'GET',
    path: '/broadcast_messages/:id',
    summary: 'Get a broadcast message',
    access: anyone,
    input: z.object(byId),
    answers: [404],
    output: BroadcastMessage,
    handler: async ({ ctx, input }) => presentBroadcastMessage(await getMessage(ctx, input.id), ctx.now()),
  }),
  endpoint({
    method: 'POST',
    path: '/broadcast_messages',
    summary: 'Create a broadcast message',
    description: 'Without times it is shown from now on for an hour.',
    access: admin,
    input: z.object({ message: documented.filled(), ...attributes }),
    output: BroadcastMessage,
    handler: async ({ ctx, input }) => presentBroadcastMessage(await createMessage(ctx, input), ctx.now()),
  }),
  endpoint({
    method: 'PUT',
    path: '/broadcast_messages/:id',
    summary: 'Update a broadcast message',
    access: admin,
    input: updateOf(z.object({ ...byId, message: opt(documented.filled()), ...attributes })),
    answers: [404],
    output: BroadcastMessage,
    handler: async ({ ctx, input: { id, ...given } }) => presentBroadcastMessage(await updateMessage(ctx, id, given), ctx.now()),
  }),
  endpoint({
    method: 'DELETE',
    path: '/broadcast_messages/:id',
    summary: 'Delete a broadcast message',
    access: admin,
    input: z.object(byId),
    answers: [404],
    status: 200,
    output: BroadcastMessage,
    handler: async ({ ctx, input }) => presentBroadcastMessage(await removeMessage(ctx, input.id), ctx.now()),
  }),
]
