/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of Fp with MULX and two interleaved carry chains (ADCX, ADOX).
 *
 * Montgomery product by operand scanning: six rows t += a b[i], each followed by t = (t + m p)/2^64 with m = -t0/p mod 2^64.
 * What such a row costs is not its multiplications but the wait for them: t0, then m, then m p[0], then the next t0. So the first
 * five rows add a multiple of k p instead, k = -1/p mod 2^64: k p = 2^64 q - 1, hence m is t0 itself, t0 (k p) cancels t0 and leaves
 * t0 q one limb up, and the next t0 is one multiplication away. The price is size: five such rows leave t/2^320 + k p at most, where
 * k p is 0.54 p 2^64, and the sixth row, an ordinary one, brings that to t/2^384 + 1.54 p. For products of reduced values the first
 * term is at most 0.11 p, for sums of four such products 0.41 p: less than 2 p together, and one subtraction ends it. Between rows
 * t has seven limbs; an eighth takes the top of t0 q. */
#include "asm.inc"

	.section .rodata
	.p2align 6
p_limbs:
	.quad	0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624
	.quad	0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a
p_inv:
	.quad	0x89f3fffcfffcfffd
q_limbs:	/* (1 + p p_inv)/2^64 */
	.quad	0x6a4aaa14be07a408, 0x5d4f098d2923b9a3, 0x622385e49d0feeb0
	.quad	0x5fb6d192233b3b63, 0x2cffcd0f221a175b, 0x0e035b9b1e00bc8e

/* t0..t6 = [base] * rdx */
.macro ROW_FIRST base, t0, t1, t2, t3, t4, t5, t6
	mulx	\t1, \t0, [\base]
	mulx	\t2, rax, [\base + 8]
	add	\t1, rax
	mulx	\t3, rax, [\base + 16]
	adc	\t2, rax
	mulx	\t4, rax, [\base + 24]
	adc	\t3, rax
	mulx	\t5, rax, [\base + 32]
	adc	\t4, rax
	mulx	\t6, rax, [\base + 40]
	adc	\t5, rax
	adc	\t6, 0
.endm

/* t0..t6 += [base] * rdx. Leaves rbp zero. */
.macro ROW_NEXT base, t0, t1, t2, t3, t4, t5, t6
	xor	ebp, ebp
	mulx	rbx, rax, [\base]
	adcx	\t0, rax
	adox	\t1, rbx
	mulx	rbx, rax, [\base + 8]
	adcx	\t1, rax
	adox	\t2, rbx
	mulx	rbx, rax, [\base + 16]
	adcx	\t2, rax
	adox	\t3, rbx
	mulx	rbx, rax, [\base + 24]
	adcx	\t3, rax
	adox	\t4, rbx
	mulx	rbx, rax, [\base + 32]
	adcx	\t4, rax
	adox	\t5, rbx
	mulx	rbx, rax, [\base + 40]
	adcx	\t5, rax
	adox	\t6, rbx
	adcx	\t6, rbp
.endm

/* t1..t7 = (t0..t6 + t0 k p)/2^64 = t1..t6 + t0 q; t0 is lost. */
.macro ROW_SHIFT t0, t1, t2, t3, t4, t5, t6, t7
	mov	rdx, \t0
	xor	ebp, ebp
	mulx	rbx, rax, [rip + q_limbs]
	adcx	\t1, rax
	adox	\t2, rbx
	mulx	rbx, rax, [rip + q_limbs + 8]
	adcx	\t2, rax
	adox	\t3, rbx
	mulx	rbx, rax, [rip + q_limbs + 16]
	adcx	\t3, rax
	adox	\t4, rbx
	mulx	rbx, rax, [rip + q_limbs + 24]
	adcx	\t4, rax
	adox	\t5, rbx
	mulx	rbx, rax, [rip + q_limbs + 32]
	adcx	\t5, rax
	adox	\t6, rbx
	mulx	\t7, rax, [rip + q_limbs + 40]
	adcx	\t6, rax
	adox	\t7, rbp
	adcx	\t7, rbp
.endm

/* t1..t6 = (t0..t6 + m p)/2^64 with m = t0 * p_inv; t0 is lost. */
.macro ROW_REDUCE t0, t1, t2, t3, t4, t5, t6
	mov	rdx, \t0
	imul	rdx, [rip + p_inv]
	xor	ebp, ebp
	mulx	rbx, rax, [rip + p_limbs]
	adcx	rax, \t0
	adox	\t1, rbx
	mulx	rbx, rax, [rip + p_limbs + 8]
	adcx	\t1, rax
	adox	\t2, rbx
	mulx	rbx, rax, [rip + p_limbs + 16]
	adcx	\t2, rax
	adox	\t3, rbx
	mulx	rbx, rax, [rip + p_limbs + 24]
	adcx	\t3, rax
	adox	\t4, rbx
	mulx	rbx, rax, [rip + p_limbs + 32]
	adcx	\t4, rax
	adox	\t5, rbx
	mulx	rbx, rax, [rip + p_limbs + 40]
	adcx	\t5, rax
	adox	\t6, rbx
	adcx	\t6, rbp
.endm

/* The six reductions of t0..t5 alone (t6, t7 free): result in t6, t7, t0..t3 */
.macro REDUCE_LOW t0, t1, t2, t3, t4, t5, t6, t7
	xor	\t6, \t6
	ROW_SHIFT \t0, \t1, \t2, \t3, \t4, \t5, \t6, \t7
	ROW_SHIFT \t1, \t2, \t3, \t4, \t5, \t6, \t7, \t0
	ROW_SHIFT \t2, \t3, \t4, \t5, \t6, \t7, \t0, \t1
	ROW_SHIFT \t3, \t4, \t5, \t6, \t7, \t0, \t1, \t2
	ROW_SHIFT \t4, \t5, \t6, \t7, \t0, \t1, \t2, \t3
	ROW_REDUCE \t5, \t6, \t7, \t0, \t1, \t2, \t3
.endm

/* [out] = t0..t5 minus p unless that is negative; clobbers rax rbx rcx rdx rsi rbp */
.macro SUBTRACT_ONCE_AND_STORE out, t0, t1, t2, t3, t4, t5
	mov	rax, \t0
	mov	rbx, \t1
	mov	rcx, \t2
	mov	rdx, \t3
	mov	rsi, \t4
	mov	rbp, \t5
	sub	rax, [rip + p_limbs]
	sbb	rbx, [rip + p_limbs + 8]
	sbb	rcx, [rip + p_limbs + 16]
	sbb	rdx, [rip + p_limbs + 24]
	sbb	rsi, [rip + p_limbs + 32]
	sbb	rbp, [rip + p_limbs + 40]
	cmovnc	\t0, rax
	cmovnc	\t1, rbx
	cmovnc	\t2, rcx
	mov	[\out], \t0
	cmovnc	\t3, rdx
	mov	[\out + 8], \t1
	cmovnc	\t4, rsi
	mov	[\out + 16], \t2
	cmovnc	\t5, rbp
	mov	[\out + 24], \t3
	mov	[\out + 32], \t4
	mov	[\out + 40], \t5
.endm

/* void cuzk_fp_mul_mulx(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]) */
FUNCTION cuzk_fp_mul_mulx
	SAVE_ALL
	mov	rcx, rdx
	mov	rdx, [rcx]
	ROW_FIRST rsi, r8, r9, r10, r11, r12, r13, r14
	ROW_SHIFT r8, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rcx + 8]
	ROW_NEXT rsi, r9, r10, r11, r12, r13, r14, r15
	ROW_SHIFT r9, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rcx + 16]
	ROW_NEXT rsi, r10, r11, r12, r13, r14, r15, r8
	ROW_SHIFT r10, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rcx + 24]
	ROW_NEXT rsi, r11, r12, r13, r14, r15, r8, r9
	ROW_SHIFT r11, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rcx + 32]
	ROW_NEXT rsi, r12, r13, r14, r15, r8, r9, r10
	ROW_SHIFT r12, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rcx + 40]
	ROW_NEXT rsi, r13, r14, r15, r8, r9, r10, r11
	ROW_REDUCE r13, r14, r15, r8, r9, r10, r11
	SUBTRACT_ONCE_AND_STORE rdi, r14, r15, r8, r9, r10, r11
	RESTORE_ALL
	ret
END cuzk_fp_mul_mulx

/* t1..t10 = r8..r15, rbp, rdi: the products a[i] a[j], i < j, of [rsi]; then doubled, squares added: t0 = rax, t11 = rcx.
 * Calls \store at t0, as it has no register of its own. */
.macro SQUARE store:vararg
	mov	rdx, [rsi]
	mulx	r9, r8, [rsi + 8]
	mulx	r10, rax, [rsi + 16]
	add	r9, rax
	mulx	r11, rax, [rsi + 24]
	adc	r10, rax
	mulx	r12, rax, [rsi + 32]
	adc	r11, rax
	mulx	r13, rax, [rsi + 40]
	adc	r12, rax
	adc	r13, 0
	mov	rdx, [rsi + 8]
	xor	ecx, ecx
	mulx	rbx, rax, [rsi + 16]
	adcx	r10, rax
	adox	r11, rbx
	mulx	rbx, rax, [rsi + 24]
	adcx	r11, rax
	adox	r12, rbx
	mulx	rbx, rax, [rsi + 32]
	adcx	r12, rax
	adox	r13, rbx
	mulx	r14, rax, [rsi + 40]
	adcx	r13, rax
	adox	r14, rcx
	adcx	r14, rcx
	mov	rdx, [rsi + 16]
	xor	ecx, ecx
	mulx	rbx, rax, [rsi + 24]
	adcx	r12, rax
	adox	r13, rbx
	mulx	rbx, rax, [rsi + 32]
	adcx	r13, rax
	adox	r14, rbx
	mulx	r15, rax, [rsi + 40]
	adcx	r14, rax
	adox	r15, rcx
	adcx	r15, rcx
	mov	rdx, [rsi + 24]
	xor	ecx, ecx
	mulx	rbx, rax, [rsi + 32]
	adcx	r14, rax
	adox	r15, rbx
	mulx	rbp, rax, [rsi + 40]
	adcx	r15, rax
	adox	rbp, rcx
	adcx	rbp, rcx
	mov	rdx, [rsi + 32]
	mulx	rdi, rax, [rsi + 40]
	add	rbp, rax
	adc	rdi, 0
	mov	rdx, [rsi]
	xor	ecx, ecx
	mulx	rbx, rax, rdx
	\store
	adcx	r8, r8
	adox	r8, rbx
	mov	rdx, [rsi + 8]
	mulx	rbx, rax, rdx
	adcx	r9, r9
	adox	r9, rax
	adcx	r10, r10
	adox	r10, rbx
	mov	rdx, [rsi + 16]
	mulx	rbx, rax, rdx
	adcx	r11, r11
	adox	r11, rax
	adcx	r12, r12
	adox	r12, rbx
	mov	rdx, [rsi + 24]
	mulx	rbx, rax, rdx
	adcx	r13, r13
	adox	r13, rax
	adcx	r14, r14
	adox	r14, rbx
	mov	rdx, [rsi + 32]
	mulx	rbx, rax, rdx
	adcx	r15, r15
	adox	r15, rax
	adcx	rbp, rbp
	adox	rbp, rbx
	mov	rdx, [rsi + 40]
	mulx	rbx, rax, rdx
	adcx	rdi, rdi
	adox	rdi, rax
	adcx	rcx, rcx
	adox	rcx, rbx
.endm

/* void cuzk_fp_sqr_mulx(uint64_t r[6], const uint64_t a[6]) */
FUNCTION cuzk_fp_sqr_mulx
	SAVE_ALL
	SAVE	rdi
	sub	rsp, 64
	.cfi_adjust_cfa_offset 64
	SQUARE	mov [rsp + 48], rax
	mov	[rsp], r13
	mov	[rsp + 8], r14
	mov	[rsp + 16], r15
	mov	[rsp + 24], rbp
	mov	[rsp + 32], rdi
	mov	[rsp + 40], rcx
	mov	rcx, [rsp + 48]
	mov	rdi, [rsp + 64]
	/* t0..t5 = rcx, r8..r12 */
	REDUCE_LOW rcx, r8, r9, r10, r11, r12, r13, r14
	add	r13, [rsp]
	adc	r14, [rsp + 8]
	mov	r12, rcx
	adc	r12, [rsp + 16]
	adc	r8, [rsp + 24]
	adc	r9, [rsp + 32]
	adc	r10, [rsp + 40]
	SUBTRACT_ONCE_AND_STORE rdi, r13, r14, r12, r8, r9, r10
	add	rsp, 72
	.cfi_adjust_cfa_offset -72
	RESTORE_ALL
	ret
END cuzk_fp_sqr_mulx

/* void cuzk_fp2_mul_mulx(uint64_t r[12], const uint64_t a[12], const uint64_t b[12])
 *
 * Each coordinate is a sum of two products, a0 b0 + (p - a1) b1 and a0 b1 + a1 b0, with one reduction: rows of both products, then the
 * row of the reduction. At most 2 p^2/2^384 + 1.54 p < 2 p comes out. 216 multiplications against 180 of Karatsuba's three products
 * with two reductions, but no double-width values in memory, which cost more than that. */
FUNCTION cuzk_fp2_mul_mulx
	SAVE_ALL
	sub	rsp, 136
	.cfi_adjust_cfa_offset 136
	mov	[rsp + 96], rdi
	mov	[rsp + 104], rsi
	mov	[rsp + 112], rdx
	mov	rcx, rdx
	mov	rax, [rip + p_limbs + 0]
	mov	rbx, [rip + p_limbs + 8]
	mov	rbp, [rip + p_limbs + 16]
	mov	r8, [rip + p_limbs + 24]
	mov	r9, [rip + p_limbs + 32]
	mov	r10, [rip + p_limbs + 40]
	sub	rax, [rsi + 48 + 0]
	sbb	rbx, [rsi + 48 + 8]
	sbb	rbp, [rsi + 48 + 16]
	sbb	r8, [rsi + 48 + 24]
	sbb	r9, [rsi + 48 + 32]
	sbb	r10, [rsi + 48 + 40]
	mov	[rsp + 0], rax
	mov	[rsp + 8], rbx
	mov	[rsp + 16], rbp
	mov	[rsp + 24], r8
	mov	[rsp + 32], r9
	mov	[rsp + 40], r10
	mov	rdx, [rcx + 0]
	ROW_FIRST rsi, r8, r9, r10, r11, r12, r13, r14
	mov	rdx, [rcx + 48 + 0]
	ROW_NEXT rsp, r8, r9, r10, r11, r12, r13, r14
	ROW_SHIFT r8, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rcx + 8]
	ROW_NEXT rsi, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rcx + 48 + 8]
	ROW_NEXT rsp, r9, r10, r11, r12, r13, r14, r15
	ROW_SHIFT r9, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rcx + 16]
	ROW_NEXT rsi, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rcx + 48 + 16]
	ROW_NEXT rsp, r10, r11, r12, r13, r14, r15, r8
	ROW_SHIFT r10, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rcx + 24]
	ROW_NEXT rsi, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rcx + 48 + 24]
	ROW_NEXT rsp, r11, r12, r13, r14, r15, r8, r9
	ROW_SHIFT r11, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rcx + 32]
	ROW_NEXT rsi, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rcx + 48 + 32]
	ROW_NEXT rsp, r12, r13, r14, r15, r8, r9, r10
	ROW_SHIFT r12, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rcx + 40]
	ROW_NEXT rsi, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rcx + 48 + 40]
	ROW_NEXT rsp, r13, r14, r15, r8, r9, r10, r11
	ROW_REDUCE r13, r14, r15, r8, r9, r10, r11
	lea	rdi, [rsp + 48]
	SUBTRACT_ONCE_AND_STORE rdi, r14, r15, r8, r9, r10, r11
	mov	rsi, [rsp + 104]
	mov	rcx, [rsp + 112]
	mov	rdx, [rcx + 48 + 0]
	ROW_FIRST rsi, r8, r9, r10, r11, r12, r13, r14
	mov	rdx, [rcx + 0]
	ROW_NEXT rsi + 48, r8, r9, r10, r11, r12, r13, r14
	ROW_SHIFT r8, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rcx + 48 + 8]
	ROW_NEXT rsi, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rcx + 8]
	ROW_NEXT rsi + 48, r9, r10, r11, r12, r13, r14, r15
	ROW_SHIFT r9, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rcx + 48 + 16]
	ROW_NEXT rsi, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rcx + 16]
	ROW_NEXT rsi + 48, r10, r11, r12, r13, r14, r15, r8
	ROW_SHIFT r10, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rcx + 48 + 24]
	ROW_NEXT rsi, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rcx + 24]
	ROW_NEXT rsi + 48, r11, r12, r13, r14, r15, r8, r9
	ROW_SHIFT r11, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rcx + 48 + 32]
	ROW_NEXT rsi, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rcx + 32]
	ROW_NEXT rsi + 48, r12, r13, r14, r15, r8, r9, r10
	ROW_SHIFT r12, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rcx + 48 + 40]
	ROW_NEXT rsi, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rcx + 40]
	ROW_NEXT rsi + 48, r13, r14, r15, r8, r9, r10, r11
	ROW_REDUCE r13, r14, r15, r8, r9, r10, r11
	mov	rdi, [rsp + 96]
	SUBTRACT_ONCE_AND_STORE rdi + 48, r14, r15, r8, r9, r10, r11
	mov	rax, [rsp + 48]
	mov	rbx, [rsp + 56]
	mov	rcx, [rsp + 64]
	mov	rdx, [rsp + 72]
	mov	rsi, [rsp + 80]
	mov	rbp, [rsp + 88]
	mov	[rdi + 0], rax
	mov	[rdi + 8], rbx
	mov	[rdi + 16], rcx
	mov	[rdi + 24], rdx
	mov	[rdi + 32], rsi
	mov	[rdi + 40], rbp
	add	rsp, 136
	.cfi_adjust_cfa_offset -136
	RESTORE_ALL
	ret
END cuzk_fp2_mul_mulx

/* void cuzk_fp2_sqr_mulx(uint64_t r[12], const uint64_t a[12])
 * (a0 + a1)(a0 + p - a1) and (2 a0) a1; the sums are not reduced: at most 4 p^2/2^384 + 1.54 p < 2 p comes out. */
FUNCTION cuzk_fp2_sqr_mulx
	SAVE_ALL
	sub	rsp, 152
	.cfi_adjust_cfa_offset 152
	mov	[rsp + 144], rdi
	mov	rax, [rsi + 0]
	mov	rbx, [rsi + 8]
	mov	rbp, [rsi + 16]
	mov	r8, [rsi + 24]
	mov	r9, [rsi + 32]
	mov	r10, [rsi + 40]
	mov	rcx, rax
	mov	rdx, rbx
	mov	r11, rbp
	mov	r12, r8
	mov	r13, r9
	mov	r14, r10
	add	rcx, [rsi + 48]
	adc	rdx, [rsi + 56]
	adc	r11, [rsi + 64]
	adc	r12, [rsi + 72]
	adc	r13, [rsi + 80]
	adc	r14, [rsi + 88]
	mov	[rsp + 0], rcx
	mov	[rsp + 8], rdx
	mov	[rsp + 16], r11
	mov	[rsp + 24], r12
	mov	[rsp + 32], r13
	mov	[rsp + 40], r14
	mov	rcx, rax
	mov	rdx, rbx
	mov	r11, rbp
	mov	r12, r8
	mov	r13, r9
	mov	r14, r10
	add	rcx, rcx
	adc	rdx, rdx
	adc	r11, r11
	adc	r12, r12
	adc	r13, r13
	adc	r14, r14
	mov	[rsp + 96], rcx
	mov	[rsp + 104], rdx
	mov	[rsp + 112], r11
	mov	[rsp + 120], r12
	mov	[rsp + 128], r13
	mov	[rsp + 136], r14
	add	rax, [rip + p_limbs + 0]
	adc	rbx, [rip + p_limbs + 8]
	adc	rbp, [rip + p_limbs + 16]
	adc	r8, [rip + p_limbs + 24]
	adc	r9, [rip + p_limbs + 32]
	adc	r10, [rip + p_limbs + 40]
	sub	rax, [rsi + 48]
	sbb	rbx, [rsi + 56]
	sbb	rbp, [rsi + 64]
	sbb	r8, [rsi + 72]
	sbb	r9, [rsi + 80]
	sbb	r10, [rsi + 88]
	mov	[rsp + 48], rax
	mov	[rsp + 56], rbx
	mov	[rsp + 64], rbp
	mov	[rsp + 72], r8
	mov	[rsp + 80], r9
	mov	[rsp + 88], r10
	mov	rcx, rsi
	mov	rdx, [rcx + 48 + 0]
	ROW_FIRST rsp + 96, r8, r9, r10, r11, r12, r13, r14
	ROW_SHIFT r8, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rcx + 48 + 8]
	ROW_NEXT rsp + 96, r9, r10, r11, r12, r13, r14, r15
	ROW_SHIFT r9, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rcx + 48 + 16]
	ROW_NEXT rsp + 96, r10, r11, r12, r13, r14, r15, r8
	ROW_SHIFT r10, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rcx + 48 + 24]
	ROW_NEXT rsp + 96, r11, r12, r13, r14, r15, r8, r9
	ROW_SHIFT r11, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rcx + 48 + 32]
	ROW_NEXT rsp + 96, r12, r13, r14, r15, r8, r9, r10
	ROW_SHIFT r12, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rcx + 48 + 40]
	ROW_NEXT rsp + 96, r13, r14, r15, r8, r9, r10, r11
	ROW_REDUCE r13, r14, r15, r8, r9, r10, r11
	mov	rdi, [rsp + 144]
	SUBTRACT_ONCE_AND_STORE rdi + 48, r14, r15, r8, r9, r10, r11
	mov	rdx, [rsp + 48 + 0]
	ROW_FIRST rsp, r8, r9, r10, r11, r12, r13, r14
	ROW_SHIFT r8, r9, r10, r11, r12, r13, r14, r15
	mov	rdx, [rsp + 48 + 8]
	ROW_NEXT rsp, r9, r10, r11, r12, r13, r14, r15
	ROW_SHIFT r9, r10, r11, r12, r13, r14, r15, r8
	mov	rdx, [rsp + 48 + 16]
	ROW_NEXT rsp, r10, r11, r12, r13, r14, r15, r8
	ROW_SHIFT r10, r11, r12, r13, r14, r15, r8, r9
	mov	rdx, [rsp + 48 + 24]
	ROW_NEXT rsp, r11, r12, r13, r14, r15, r8, r9
	ROW_SHIFT r11, r12, r13, r14, r15, r8, r9, r10
	mov	rdx, [rsp + 48 + 32]
	ROW_NEXT rsp, r12, r13, r14, r15, r8, r9, r10
	ROW_SHIFT r12, r13, r14, r15, r8, r9, r10, r11
	mov	rdx, [rsp + 48 + 40]
	ROW_NEXT rsp, r13, r14, r15, r8, r9, r10, r11
	ROW_REDUCE r13, r14, r15, r8, r9, r10, r11
	SUBTRACT_ONCE_AND_STORE rdi, r14, r15, r8, r9, r10, r11
	add	rsp, 152
	.cfi_adjust_cfa_offset -152
	RESTORE_ALL
	ret
END cuzk_fp2_sqr_mulx
