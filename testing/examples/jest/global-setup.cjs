const { startRoost } = require('roost/test')

/** One server for all workers, which find it by this variable. */
module.exports = async () => {
  globalThis.roost = await startRoost()
  process.env.ROOST_TEST_CONTROL = globalThis.roost.control
}
