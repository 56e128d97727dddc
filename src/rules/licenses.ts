export interface License {
  /** The name that choosealicense.com gives it; `other` for an unknown one. */
  key: string
  name: string
  nickname: string | null
  html_url: string | null
  source_url: string | null
}

/** A licence whose text is not known. */
const OTHER: License = { key: 'other', name: 'Other', nickname: 'LICENSE', html_url: null, source_url: null }

/** A licence, and the words by which it is recognised. */
interface Known {
  key: string
  name: string
  nickname?: string
  source_url: string
  /** Words without punctuation, all of which the text has. */
  words: string[]
  /** Where they stand and how long the text is, in characters: another licence may quote them. */
  within: number
  maxLength?: number
}

const GNU = 'https://www.gnu.org/licenses'
const OSI = 'https://opensource.org/licenses'
/** The length of the title of a long licence. */
const TITLE = 400
/** A short licence with its copyright lines. */
const SHORT = 3_000
const BSD =
  'redistribution and use in source and binary forms with or without modification are permitted provided that the following conditions are met'
const ISC = 'permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted'

/** The first one that matches counts. */
const LICENSES: Known[] = [
  {
    key: 'agpl-3.0',
    name: 'GNU Affero General Public License v3.0',
    nickname: 'GNU AGPLv3',
    source_url: `${GNU}/agpl-3.0.txt`,
    words: ['gnu affero general public license version 3'],
    within: TITLE,
  },
  {
    key: 'lgpl-3.0',
    name: 'GNU Lesser General Public License v3.0',
    nickname: 'GNU LGPLv3',
    source_url: `${GNU}/lgpl-3.0.txt`,
    words: ['gnu lesser general public license version 3'],
    within: TITLE,
  },
  {
    key: 'lgpl-2.1',
    name: 'GNU Lesser General Public License v2.1',
    nickname: 'GNU LGPLv2.1',
    source_url: `${GNU}/old-licenses/lgpl-2.1.txt`,
    words: ['gnu lesser general public license version 2 1'],
    within: TITLE,
  },
  {
    key: 'gpl-3.0',
    name: 'GNU General Public License v3.0',
    nickname: 'GNU GPLv3',
    source_url: `${GNU}/gpl-3.0.txt`,
    words: ['gnu general public license version 3'],
    within: TITLE,
  },
  {
    key: 'gpl-2.0',
    name: 'GNU General Public License v2.0',
    nickname: 'GNU GPLv2',
    source_url: `${GNU}/old-licenses/gpl-2.0.txt`,
    words: ['gnu general public license version 2'],
    within: TITLE,
  },
  {
    key: 'apache-2.0',
    name: 'Apache License 2.0',
    source_url: 'https://www.apache.org/licenses/LICENSE-2.0',
    words: ['apache license version 2 0'],
    within: TITLE,
  },
  {
    key: 'mpl-2.0',
    name: 'Mozilla Public License 2.0',
    source_url: 'https://www.mozilla.org/media/MPL/2.0/index.txt',
    words: ['mozilla public license version 2 0'],
    within: TITLE,
  },
  {
    key: 'epl-2.0',
    name: 'Eclipse Public License 2.0',
    source_url: 'https://www.eclipse.org/legal/epl-2.0',
    words: ['eclipse public license v 2 0'],
    within: TITLE,
  },
  {
    key: 'cc0-1.0',
    name: 'Creative Commons Zero v1.0 Universal',
    source_url: 'https://creativecommons.org/publicdomain/zero/1.0',
    words: ['cc0 1 0 universal'],
    within: TITLE,
  },
  {
    key: 'bsl-1.0',
    name: 'Boost Software License 1.0',
    source_url: 'https://www.boost.org/LICENSE_1_0.txt',
    words: ['boost software license version 1 0'],
    within: TITLE,
  },
  {
    key: 'unlicense',
    name: 'The Unlicense',
    source_url: 'https://unlicense.org',
    words: ['this is free and unencumbered software released into the public domain'],
    within: SHORT,
    maxLength: SHORT,
  },
  {
    key: 'mit',
    name: 'MIT License',
    source_url: `${OSI}/MIT`,
    words: ['permission is hereby granted free of charge to any person obtaining a copy of this software and associated documentation files'],
    within: SHORT,
    maxLength: SHORT,
  },
  {
    key: 'isc',
    name: 'ISC License',
    source_url: `${OSI}/ISC`,
    words: [ISC, 'provided that the above copyright notice and this permission notice appear in all copies'],
    within: SHORT,
    maxLength: SHORT,
  },
  { key: '0bsd', name: 'BSD Zero Clause License', source_url: `${OSI}/0BSD`, words: [ISC], within: SHORT, maxLength: SHORT },
  {
    key: 'bsd-4-clause',
    name: 'BSD 4-Clause "Original" or "Old" License',
    source_url: 'https://spdx.org/licenses/BSD-4-Clause.html',
    words: [BSD, 'all advertising materials mentioning features or use of this software'],
    within: SHORT,
    maxLength: SHORT,
  },
  {
    key: 'bsd-3-clause',
    name: 'BSD 3-Clause "New" or "Revised" License',
    source_url: `${OSI}/BSD-3-Clause`,
    words: [BSD, 'neither the name of'],
    within: SHORT,
    maxLength: SHORT,
  },
  {
    key: 'bsd-2-clause',
    name: 'BSD 2-Clause "Simplified" License',
    source_url: `${OSI}/BSD-2-Clause`,
    words: [BSD],
    within: SHORT,
    maxLength: SHORT,
  },
]

/** The licence that a text is, by words that only it has (PR-60). */
export function licenseOfText(text: string): License {
  const words = text.toLowerCase().replace(/[^a-z0-9]+/g, ' ')
  const found = LICENSES.find(
    ({ words: marks, within, maxLength = Number.POSITIVE_INFINITY }) =>
      words.length <= maxLength && marks.every((mark) => words.slice(0, within).includes(mark)),
  )
  if (!found) return OTHER
  const { key, name, nickname = null, source_url } = found
  return { key, name, nickname, html_url: `https://choosealicense.com/licenses/${key}/`, source_url }
}

/** Names of files with a licence; the first kind that a folder has is read. */
const FILES = [/^licen[sc]e$/i, /^licen[sc]e\.(md|txt|rst|html)$/i, /^copying(\.(md|txt))?$/i, /^unlicense(\.(md|txt))?$/i, /^licen[sc]e[.-]/i]

/** Of these names of files, the one that holds the licence. */
export function licenseFile<T extends { name: string }>(files: T[]): T | undefined {
  for (const pattern of FILES) {
    const found = files.find(({ name }) => pattern.test(name))
    if (found) return found
  }
  return undefined
}
