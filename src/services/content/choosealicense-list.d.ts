declare module 'choosealicense-list' {
  interface ListedLicense {
    title: string
    'spdx-id': string
    nickname: string | null
    description: string
    conditions: string[]
    permissions: string[]
    limitations: string[]
    featured: boolean
    /** One that few use: it is in no list. */
    hidden: boolean
    urls: { choosealicense: string }
    source?: string
    body: string
  }
  const list: { licenses: Record<string, ListedLicense> }
  export default list
}
