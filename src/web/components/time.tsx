import { currentLanguage, dayFormat, t } from '../language/language.js'
import { Phrase } from '../language/phrase.js'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A day as people write it: 25 Nov 2026. */
export const dayText = (moment: Date) =>
  currentLanguage() === 'en'
    ? `${moment.getUTCDate()} ${MONTHS[moment.getUTCMonth()]} ${moment.getUTCFullYear()}`
    : dayFormat(currentLanguage()).format(moment)
const two = (n: number) => String(n).padStart(2, '0')

/** A moment, with its time in UTC as its title; the page script shows how long ago it is. */
export const Time = ({ at }: { at: Date }) => (
  <time dateTime={at.toISOString()} title={`${dayText(at)}, ${two(at.getUTCHours())}:${two(at.getUTCMinutes())} UTC`}>
    {dayText(at)}
  </time>
)

/** Whether and when something was used, after when it was made. */
export const LastUsed = ({ at }: { at: Date | null }) => (at ? <Phrase text=", last used {time}" time={<Time at={at} />} /> : t(', never used'))
