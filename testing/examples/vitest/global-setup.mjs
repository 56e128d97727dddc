import { startRoost } from 'roost/test'

/** One server for all workers, which find it by this variable. */
export default async function setup() {
  const roost = await startRoost()
  process.env.ROOST_TEST_CONTROL = roost.control
  return () => roost.stop()
}
