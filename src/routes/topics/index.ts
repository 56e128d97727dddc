import { z } from 'zod'
import { admin, anyone } from '../../access/rules.js'
import { presentTopic, Topic } from '../../entities/projects/topic.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, clearableFile, file, opt, paging, rowId, searchText, updateOf } from '../../http/params.js'
import { createTopic, deleteTopic, getTopic, listTopics, mergeTopics, updateTopic } from '../../services/projects/topics.js'

const byId = { id: rowId() }

/** Topics of projects (TP-1 to TP-4). */
export const topics = [
  endpoint({
    method: 'GET',
    path: '/topics',
    summary: 'List topics',
    description: 'Those of most projects come first.',
    access: anyone,
    input: z.object({ search: opt(searchText()), without_projects: opt(bool()), ...paging }),
    output: z.array(Topic),
    handler: async ({ ctx, caller, input, view }) => pageOf(await listTopics(ctx, caller, input), input, (topic) => presentTopic(topic, view)),
  }),
  endpoint({
    method: 'GET',
    path: '/topics/:id',
    summary: 'Get a topic',
    access: anyone,
    input: z.object(byId),
    output: Topic,
    answers: [404],
    handler: async ({ ctx, caller, input, view }) => presentTopic(await getTopic(ctx, caller, input.id), view),
  }),
  endpoint({
    method: 'POST',
    path: '/topics',
    summary: 'Create a topic',
    access: admin,
    input: z.object({ name: documented.title(), title: opt(documented.title()), description: opt(clearable()), avatar: opt(file()) }),
    output: Topic,
    largeBody: true,
    handler: async ({ ctx, input, view }) => presentTopic(await createTopic(ctx, input), view),
  }),
  endpoint({
    method: 'PUT',
    path: '/topics/:id',
    summary: 'Change a topic',
    access: admin,
    input: updateOf(
      z.object({
        ...byId,
        name: opt(documented.title()),
        title: opt(documented.title()),
        description: opt(clearable()),
        avatar: opt(clearableFile()),
      }),
    ),
    output: Topic,
    largeBody: true,
    handler: async ({ ctx, input: { id, ...given }, view }) => presentTopic(await updateTopic(ctx, id, given), view),
  }),
  endpoint({
    method: 'DELETE',
    path: '/topics/:id',
    summary: 'Delete a topic, and take it from its projects',
    access: admin,
    input: z.object(byId),
    answers: [404],
    handler: ({ ctx, input }) => deleteTopic(ctx, input.id),
  }),
  endpoint({
    method: 'POST',
    path: '/topics/merge',
    summary: 'Merge a topic into another',
    description: 'Its projects get the other one, and it is deleted.',
    access: admin,
    input: z.object({ source_topic_id: rowId(), target_topic_id: rowId() }),
    output: Topic,
    answers: [404],
    handler: async ({ ctx, input, view }) => presentTopic(await mergeTopics(ctx, input.source_topic_id, input.target_topic_id), view),
  }),
]
