import { highlightLines } from './highlight.js'
import type { HighlightTask } from './highlighter.js'
import { startTextThread } from './start-text-thread.js'

/** The thread of `Highlighter`. */
startTextThread(({ source, language }: HighlightTask) => highlightLines(source, language)?.join('\n') ?? '')
