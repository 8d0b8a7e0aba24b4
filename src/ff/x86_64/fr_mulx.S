/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of Fr with MULX and two interleaved carry chains (ADCX, ADOX); rows as in fp_mulx.S.
 *
 * The low limb of r is 2^64 - 2^32 + 1, so a row's m = -t0/r mod 2^64 is -(t0 + (t0 << 32)), and m times that limb plus t0 is
 * 2^64 (m - (m >> 32) + carry of t0 + m): four shifts and additions in place of two multiplications. */
#include "asm.inc"

	.section .rodata
	.p2align 5
r_limbs:
	.quad	0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48
r_limbs_2:
	.quad	0xfffffffe00000002, 0xa77b4805fffcb7fd, 0x6673b0101343b00a, 0xe7db4ea6533afa90
r_limbs_4:
	.quad	0xfffffffc00000004, 0x4ef6900bfff96ffb, 0xcce7602026876015, 0xcfb69d4ca675f520, 0x0000000000000001

/* t0..t4 = t0..t3 + (rsi r11 r12 r13) * rdx; leaves rbp zero */
.macro ROW_NEXT t0, t1, t2, t3, t4
	xor	ebp, ebp
	mulx	rbx, rax, r12
	adcx	\t0, rax
	adox	\t1, rbx
	mulx	rbx, rax, r13
	adcx	\t1, rax
	adox	\t2, rbx
	mulx	rbx, rax, r14
	adcx	\t2, rax
	adox	\t3, rbx
	mulx	\t4, rax, r15
	adcx	\t3, rax
	adox	\t4, rbp
	adcx	\t4, rbp
.endm

/* t1..t4 = (t0..t4 + m r)/2^64; t0 is lost. \fresh: t4 holds nothing yet. */
.macro ROW_REDUCE t0, t1, t2, t3, t4, fresh
	mov	rdx, \t0
	shl	rdx, 32
	add	rdx, \t0
	neg	rdx
	mov	rbx, rdx
	mov	rax, rdx
	shr	rbx, 32
	sub	rax, rbx
	xor	ebp, ebp
	adcx	\t0, rdx
	adox	\t1, rax
	mulx	rbx, rax, [rip + r_limbs + 8]
	adcx	\t1, rax
	adox	\t2, rbx
	mulx	rbx, rax, [rip + r_limbs + 16]
	adcx	\t2, rax
	adox	\t3, rbx
.if \fresh
	mulx	\t4, rax, [rip + r_limbs + 24]
	adcx	\t3, rax
	adox	\t4, rbp
	adcx	\t4, rbp
.else
	mulx	rbx, rax, [rip + r_limbs + 24]
	adcx	\t3, rax
	adox	\t4, rbx
	adcx	\t4, rbp
.endif
.endm

/* [rdi] = t0..t3 minus r unless that is negative; clobbers rax rbx rcx rdx */
.macro SUBTRACT_ONCE_AND_STORE t0, t1, t2, t3
	mov	rax, \t0
	mov	rbx, \t1
	mov	rcx, \t2
	mov	rdx, \t3
	sub	rax, [rip + r_limbs]
	sbb	rbx, [rip + r_limbs + 8]
	sbb	rcx, [rip + r_limbs + 16]
	sbb	rdx, [rip + r_limbs + 24]
	cmovnc	\t0, rax
	cmovnc	\t1, rbx
	cmovnc	\t2, rcx
	cmovnc	\t3, rdx
	mov	[rdi], \t0
	mov	[rdi + 8], \t1
	mov	[rdi + 16], \t2
	mov	[rdi + 24], \t3
.endm

/* void cuzk_fr_mul_mulx(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]) */
FUNCTION cuzk_fr_mul_mulx
	SAVE_ALL
	mov	rcx, rdx
	mov	r12, [rsi]
	mov	r13, [rsi + 8]
	mov	r14, [rsi + 16]
	mov	r15, [rsi + 24]
	mov	rdx, [rcx]
	mulx	r9, r8, r12
	mulx	r10, rax, r13
	add	r9, rax
	mulx	r11, rax, r14
	adc	r10, rax
	mulx	rsi, rax, r15
	adc	r11, rax
	adc	rsi, 0
	ROW_REDUCE r8, r9, r10, r11, rsi, 0
	mov	rdx, [rcx + 8]
	ROW_NEXT r9, r10, r11, rsi, r8
	ROW_REDUCE r9, r10, r11, rsi, r8, 0
	mov	rdx, [rcx + 16]
	ROW_NEXT r10, r11, rsi, r8, r9
	ROW_REDUCE r10, r11, rsi, r8, r9, 0
	mov	rdx, [rcx + 24]
	ROW_NEXT r11, rsi, r8, r9, r10
	ROW_REDUCE r11, rsi, r8, r9, r10, 0
	SUBTRACT_ONCE_AND_STORE rsi, r8, r9, r10
	RESTORE_ALL
	ret
END cuzk_fr_mul_mulx

/* void cuzk_fr_sqr_mulx(uint64_t r[4], const uint64_t a[4]) */
FUNCTION cuzk_fr_sqr_mulx
	SAVE_ALL
	mov	rdx, [rsi]
	mov	r13, [rsi + 8]
	mov	r14, [rsi + 16]
	mov	r15, [rsi + 24]
	/* t1..t6 = r9 r10 r11 r12 rcx rsi */
	mulx	r10, r9, r13
	mulx	r11, rax, r14
	add	r10, rax
	mulx	r12, rax, r15
	adc	r11, rax
	adc	r12, 0
	mov	rbp, rdx
	mov	rdx, r13
	mulx	rbx, rax, r14
	mulx	rcx, r8, r15
	add	r11, rax
	adc	r12, rbx
	adc	rcx, 0
	add	r12, r8
	adc	rcx, 0
	mov	rdx, r14
	mulx	rsi, rax, r15
	add	rcx, rax
	adc	rsi, 0
	mov	rdx, rbp
	xor	ebp, ebp
	mulx	rbx, r8, rdx
	adcx	r9, r9
	adox	r9, rbx
	mov	rdx, r13
	mulx	rbx, rax, rdx
	adcx	r10, r10
	adox	r10, rax
	adcx	r11, r11
	adox	r11, rbx
	mov	rdx, r14
	mulx	rbx, rax, rdx
	adcx	r12, r12
	adox	r12, rax
	adcx	rcx, rcx
	adox	rcx, rbx
	mov	rdx, r15
	mulx	r15, rax, rdx
	adcx	rsi, rsi
	adox	rsi, rax
	mov	r14d, 0
	adcx	r15, r14
	adox	r15, r14
	/* t0..t3 = r8..r11; t4..t7 = r12 rcx rsi r15 */
	ROW_REDUCE r8, r9, r10, r11, r13, 1
	ROW_REDUCE r9, r10, r11, r13, r8, 1
	ROW_REDUCE r10, r11, r13, r8, r9, 1
	ROW_REDUCE r11, r13, r8, r9, r10, 1
	add	r12, r13
	adc	r8, rcx
	adc	r9, rsi
	adc	r10, r15
	SUBTRACT_ONCE_AND_STORE r12, r8, r9, r10
	RESTORE_ALL
	ret
END cuzk_fr_sqr_mulx

/* t0..t4 += (four limbs at rsi) * (limb at rbp + off); CARRY, with the flags left by it, goes on above; rdi becomes zero */
.macro DOT_ROW off, t0, t1, t2, t3, t4
	mov	rdx, [rbp + \off]
	xor	edi, edi
	mulx	rbx, rax, [rsi]
	adcx	\t0, rax
	adox	\t1, rbx
	mulx	rbx, rax, [rsi + 8]
	adcx	\t1, rax
	adox	\t2, rbx
	mulx	rbx, rax, [rsi + 16]
	adcx	\t2, rax
	adox	\t3, rbx
	mulx	rbx, rax, [rsi + 24]
	adcx	\t3, rax
	adox	\t4, rbx
	adcx	\t4, rdi
.endm

.macro CARRY t
	adox	\t, rdi
	adcx	\t, rdi
.endm

/* r12..r15, rcx minus the multiple of r at \from (its fifth limb, or zero) unless that is negative; clobbers rax rbx rdx rbp rsi */
.macro DOT_SUBTRACT from, fifth
	mov	rax, r12
	mov	rbx, r13
	mov	rdx, r14
	mov	rbp, r15
	mov	rsi, rcx
	sub	rax, [rip + \from]
	sbb	rbx, [rip + \from + 8]
	sbb	rdx, [rip + \from + 16]
	sbb	rbp, [rip + \from + 24]
	sbb	rsi, \fifth
	cmovnc	r12, rax
	cmovnc	r13, rbx
	cmovnc	r14, rdx
	cmovnc	r15, rbp
	cmovnc	rcx, rsi
.endm

/* void cuzk_fr_dot_mulx(uint64_t r[4], const uint64_t *a, const uint64_t *b, size_t stride, size_t n)
 * Sums up to 15 products in nine limbs t0..t8 = r8..r15, rcx and reduces once. With r = 0.4527 * 2^256 the reduced sum is below
 * (15 * 0.4527 + 1) r < 8 r. */
FUNCTION cuzk_fr_dot_mulx
	SAVE_ALL
	push	rdi
	.cfi_adjust_cfa_offset 8
	push	rcx
	.cfi_adjust_cfa_offset 8
	push	r8
	.cfi_adjust_cfa_offset 8
	mov	rbp, rdx
	xor	r8d, r8d
	xor	r9d, r9d
	xor	r10d, r10d
	xor	r11d, r11d
	xor	r12d, r12d
	xor	r13d, r13d
	xor	r14d, r14d
	xor	r15d, r15d
	xor	ecx, ecx
	.p2align 4
.Ldot_next:
	DOT_ROW 0, r8, r9, r10, r11, r12
	CARRY	r13
	CARRY	r14
	CARRY	r15
	CARRY	rcx
	DOT_ROW 8, r9, r10, r11, r12, r13
	CARRY	r14
	CARRY	r15
	CARRY	rcx
	DOT_ROW 16, r10, r11, r12, r13, r14
	CARRY	r15
	CARRY	rcx
	DOT_ROW 24, r11, r12, r13, r14, r15
	CARRY	rcx
	add	rsi, 32
	add	rbp, [rsp + 8]
	dec	qword ptr [rsp]
	jnz	.Ldot_next
	add	rsp, 16
	.cfi_adjust_cfa_offset -16
	pop	rdi
	.cfi_adjust_cfa_offset -8
	ROW_REDUCE r8, r9, r10, r11, rsi, 1
	ROW_REDUCE r9, r10, r11, rsi, r8, 1
	ROW_REDUCE r10, r11, rsi, r8, r9, 1
	ROW_REDUCE r11, rsi, r8, r9, r10, 1
	add	r12, rsi
	adc	r13, r8
	adc	r14, r9
	adc	r15, r10
	adc	rcx, 0
	DOT_SUBTRACT r_limbs_4, "[rip + r_limbs_4 + 32]"
	DOT_SUBTRACT r_limbs_2, 0
	SUBTRACT_ONCE_AND_STORE r12, r13, r14, r15
	RESTORE_ALL
	ret
END cuzk_fr_dot_mulx
