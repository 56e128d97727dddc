import type { Payload } from '../payload.js'
import { address, branches, brokenOnly, isOn, type Property, type Sender, type Service, type Settings, secret, text, textOf } from '../service.js'
import { type ChatMessage, messageOf } from './message.js'
import {
  detailsOf,
  googleWriting,
  htmlWriting,
  lineOf,
  markdownWriting,
  mattermostWriting,
  slackWriting,
  type Writing,
  wholeText,
} from './writing.js'

const CHAT_EVENTS = [
  'push',
  'issues',
  'confidential_issues',
  'merge_requests',
  'note',
  'confidential_note',
  'tag_push',
  'pipeline',
  'wiki_page',
] as const

/** The address is a credential, but maintainers see it, as the addresses of webhooks (SV-4). */
const webhook = (hint: string): Property => address('Webhook', { sealed: true, hint })
/** Of earlier versions, in place of `branches_to_be_notified`. */
const scope = { notify_only_broken_pipelines: brokenOnly, branches_to_be_notified: branches('default') }

const COLORS = { neutral: '#334455', good: '#1a7431', bad: '#b3261e' }

/** A chat whose messages have one form; `bodies` may send one to several channels. */
const chat = (
  given: Omit<Service, 'events' | 'sender'>,
  bodies: (message: ChatMessage, settings: Settings) => object[],
  at?: Sender['address'],
): Service => ({
  ...given,
  events: CHAT_EVENTS,
  sender: {
    address: at ?? ((settings) => textOf(settings, 'webhook')),
    requests(payload: Payload, settings) {
      const message = messageOf(payload, isOn(settings, 'notify_only_broken_pipelines'))
      return message ? bodies(message, settings).map((body) => ({ body: JSON.stringify(body) })) : []
    },
  },
})

const CHANNELS = ['push', 'issue', 'confidential_issue', 'merge_request', 'note', 'confidential_note', 'tag_push', 'pipeline', 'wiki_page'] as const
const MAX_CHANNELS = 10
const channels = Object.fromEntries(
  CHANNELS.map((name) => [
    `${name}_channel`,
    text(`Channel for ${name.replaceAll('_', ' ')}s`.replace('pushs', 'pushes').replace('tag_pushs', 'tag pushes')),
  ]),
)

/** The channels of a message; undefined: the one of the webhook. */
function channelsOf({ channel }: ChatMessage, settings: Settings): (string | undefined)[] {
  const open = channel.replace(/^confidential_/, '')
  const named = [channel, open].map((name) => textOf(settings, `${name}_channel`)).find((given) => given.trim() !== '') ?? textOf(settings, 'channel')
  const all = named
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return all.length > 0 ? all.slice(0, MAX_CHANNELS) : [undefined]
}

/** Slack's format, which Mattermost reads too. */
const slackBodies = (writing: Writing) => (message: ChatMessage, settings: Settings) => {
  const details = detailsOf(message, writing)
  const username = textOf(settings, 'username')
  const body = {
    text: lineOf(message, writing),
    ...(username !== '' && { username }),
    ...(details !== '' && { attachments: [{ fallback: details, text: details, color: COLORS[message.mood], mrkdwn_in: ['text'] }] }),
  }
  return channelsOf(message, settings).map((channel) => ({ ...body, ...(channel !== undefined && { channel }) }))
}

const slackProperties = (hint: string) => ({
  webhook: webhook(hint),
  username: text('Name of the sender'),
  channel: text('Channel', { hint: 'Several are separated by commas. Empty: that of the webhook.' }),
  ...scope,
  ...channels,
})

export const slack = chat(
  {
    slug: 'slack',
    title: 'Slack notifications',
    description: 'Sends notifications about the project to Slack.',
    properties: slackProperties('Such as https://hooks.slack.com/services/…'),
  },
  slackBodies(slackWriting),
)

export const mattermost = chat(
  {
    slug: 'mattermost',
    title: 'Mattermost notifications',
    description: 'Sends notifications about the project to Mattermost.',
    properties: slackProperties('Such as https://mattermost.example.com/hooks/…'),
  },
  slackBodies(mattermostWriting),
)

/** Discord's limit of a description, in characters. */
const MAX_DESCRIPTION = 4_096

export const discord = chat(
  {
    slug: 'discord',
    title: 'Discord Notifications',
    description: 'Sends notifications about the project to Discord.',
    properties: { webhook: webhook('Such as https://discord.com/api/webhooks/…'), ...scope },
  },
  (message) => [
    {
      allowed_mentions: { parse: [] },
      embeds: [
        {
          author: { name: message.author.name.slice(0, 256), ...(message.author.avatar && { icon_url: message.author.avatar }) },
          description: wholeText(message, markdownWriting).slice(0, MAX_DESCRIPTION),
          color: Number.parseInt(COLORS[message.mood].slice(1), 16),
        },
      ],
    },
  ],
)

export const microsoftTeams = chat(
  {
    slug: 'microsoft-teams',
    title: 'Microsoft Teams notifications',
    description: 'Sends notifications about the project to Microsoft Teams.',
    properties: { webhook: webhook('Such as https://example.webhook.office.com/…'), ...scope },
  },
  (message) => [
    {
      '@type': 'MessageCard',
      '@context': 'https://schema.org/extensions',
      themeColor: COLORS[message.mood].slice(1),
      title: message.project.text,
      summary: lineOf(message, { text: (plain) => plain, link: (plain) => plain }),
      sections: [
        {
          activityTitle: lineOf(message, markdownWriting),
          ...(message.author.avatar && { activityImage: message.author.avatar }),
          // paragraphs, as single line breaks are not kept
          text: detailsOf(message, markdownWriting).replaceAll('\n', '\n\n'),
        },
      ],
    },
  ],
)

export const hangoutsChat = chat(
  {
    slug: 'hangouts-chat',
    title: 'Google Chat',
    description: 'Sends notifications about the project to a space in Google Chat.',
    properties: { webhook: webhook('Such as https://chat.googleapis.com/v1/spaces/…'), ...scope },
  },
  (message) => [{ text: wholeText(message, googleWriting) }],
)

export const webexTeams = chat(
  {
    slug: 'webex-teams',
    title: 'Webex Teams',
    description: 'Sends notifications about the project to Webex.',
    properties: { webhook: webhook('Such as https://webexapis.com/v1/webhooks/incoming/…'), ...scope },
  },
  (message) => [{ markdown: wholeText(message, markdownWriting) }],
)

export const unifyCircuit = chat(
  {
    slug: 'unify-circuit',
    title: 'Unify Circuit',
    description: 'Sends notifications about the project to Unify Circuit.',
    properties: { webhook: webhook('Such as https://circuit.com/rest/v2/webhooks/incoming/…'), ...scope },
  },
  (message) => [{ subject: message.project.text, text: wholeText(message, markdownWriting), markdown: true }],
)

export const pumble = chat(
  {
    slug: 'pumble',
    title: 'Pumble',
    description: 'Sends notifications about the project to Pumble.',
    properties: { webhook: webhook('Such as https://api.pumble.com/workspaces/…'), ...scope },
  },
  (message) => [{ text: wholeText(message, { text: (plain) => plain.replaceAll('<', '<\u200b'), link: slackWriting.link }) }],
)

/** Telegram's limit of a text. */
const MAX_TELEGRAM = 4_096

export const telegram = chat(
  {
    slug: 'telegram',
    title: 'Telegram',
    description: 'Sends notifications about the project to Telegram.',
    properties: {
      hostname: { kind: 'address', label: 'Server', hint: 'Empty: https://api.telegram.org' },
      token: secret('Token of the bot', { required: true }),
      room: text('Channel', { required: true, hint: 'Its id, or its name with @ before it.' }),
      ...scope,
    },
  },
  (message, settings) => {
    const whole = wholeText(message, htmlWriting)
    const shown = whole.length <= MAX_TELEGRAM ? whole : lineOf(message, htmlWriting)
    return [{ chat_id: textOf(settings, 'room'), text: shown, parse_mode: 'HTML', link_preview_options: { is_disabled: true } }]
  },
  (settings) => `${textOf(settings, 'hostname') || 'https://api.telegram.org'}/bot${textOf(settings, 'token')}/sendMessage`,
)
