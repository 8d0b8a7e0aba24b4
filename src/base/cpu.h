/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the processor can do, asked once. CUZK_CPU_MASK in the environment (a number) switches features off, for tests and
 *  measurements: only features whose bit is in the mask are reported. */
#ifndef CUZK_BASE_CPU_H
#define CUZK_BASE_CPU_H

#define CUZK_CPU_BMI2_ADX 1u     /* MULX, ADCX, ADOX */
#define CUZK_CPU_AVX2 2u         /* AVX2, and the system saves its registers */
#define CUZK_CPU_AVX512F 4u      /* AVX-512 F, DQ, VL, BW, and the system saves its registers */
#define CUZK_CPU_AVX512IFMA 8u   /* AVX-512 IFMA on top of AVX512F */
#define CUZK_CPU_SHA_NI 16u      /* SHA extensions, SSSE3, SSE4.1 */

/** Feature bits of this machine after the mask. Thread-safe; constant for the life of the process. */
unsigned cuzk_cpu_features(void);
#endif
