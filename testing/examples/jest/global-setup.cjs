const { startRoost } = require('roost-server/test')

/** Starts one server for all workers, which find it by the variable. */
module.exports = async () => {
  globalThis.roost = await startRoost()
  process.env.ROOST_TEST_CONTROL = globalThis.roost.control
}
