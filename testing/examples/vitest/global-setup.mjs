import { startRoost } from 'roost-server/test'

/** Starts one server for all workers, which find it by the variable. */
export default async function setup() {
  const roost = await startRoost()
  process.env.ROOST_TEST_CONTROL = roost.control
  return () => roost.stop()
}
