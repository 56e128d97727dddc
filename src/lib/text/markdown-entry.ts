import { parentPort } from 'node:worker_threads'
import { markdownToHtml } from './markdown.js'

/** The thread of `MarkdownThread`: renders one text after the other. */
parentPort?.on('message', ({ id, text }: { id: number; text: string }) => parentPort?.postMessage({ id, html: markdownToHtml(text) }))
