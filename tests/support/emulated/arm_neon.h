/* The NEON intrinsics that src/codec/simd/vector_neon.h and octets.h use, implemented in plain C by
 * SIMDe, so that the NEON back end can be tested on any machine. The build adds this directory to
 * the include path of tests of that back end on other architectures. The library itself never uses
 * it. */
#ifndef UVH_TESTS_ARM_NEON_H
#define UVH_TESTS_ARM_NEON_H

#define SIMDE_ENABLE_NATIVE_ALIASES /* also defines vld1q_u8 for simde_vld1q_u8 */

#include <simde/arm/neon/add.h>
#include <simde/arm/neon/and.h>
#include <simde/arm/neon/bic.h>
#include <simde/arm/neon/ceq.h>
#include <simde/arm/neon/cle.h>
#include <simde/arm/neon/clt.h>
#include <simde/arm/neon/dup_n.h>
#include <simde/arm/neon/eor.h>
#include <simde/arm/neon/get_lane.h>
#include <simde/arm/neon/ld1.h>
#include <simde/arm/neon/maxv.h>
#include <simde/arm/neon/orr.h>
#include <simde/arm/neon/qsub.h>
#include <simde/arm/neon/qtbl.h>
#include <simde/arm/neon/reinterpret.h>
#include <simde/arm/neon/shr_n.h>
#include <simde/arm/neon/shrn_n.h>
#include <simde/arm/neon/st1.h>
#include <simde/arm/neon/tst.h>

#endif
