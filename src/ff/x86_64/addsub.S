/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums and differences of Fp and Fr: plain x86-64, no branches. */
#include "asm.inc"

	.section .rodata
	.p2align 6
p_limbs:
	.quad	0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624
	.quad	0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a
r_limbs:
	.quad	0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48

/* void cuzk_fp_add_x64(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]) */
FUNCTION cuzk_fp_add_x64
	SAVE	rbx
	SAVE	rbp
	SAVE	r12
	SAVE	r13
	mov	rax, [rsi]
	mov	rcx, [rsi + 8]
	mov	r8, [rsi + 16]
	mov	r9, [rsi + 24]
	mov	r10, [rsi + 32]
	mov	r11, [rsi + 40]
	add	rax, [rdx]
	adc	rcx, [rdx + 8]
	adc	r8, [rdx + 16]
	adc	r9, [rdx + 24]
	adc	r10, [rdx + 32]
	adc	r11, [rdx + 40]
	mov	rbx, rax
	mov	rbp, rcx
	mov	rsi, r8
	mov	rdx, r9
	mov	r12, r10
	mov	r13, r11
	sub	rax, [rip + p_limbs]
	sbb	rcx, [rip + p_limbs + 8]
	sbb	r8, [rip + p_limbs + 16]
	sbb	r9, [rip + p_limbs + 24]
	sbb	r10, [rip + p_limbs + 32]
	sbb	r11, [rip + p_limbs + 40]
	cmovc	rax, rbx
	cmovc	rcx, rbp
	cmovc	r8, rsi
	cmovc	r9, rdx
	cmovc	r10, r12
	cmovc	r11, r13
	mov	[rdi], rax
	mov	[rdi + 8], rcx
	mov	[rdi + 16], r8
	mov	[rdi + 24], r9
	mov	[rdi + 32], r10
	mov	[rdi + 40], r11
	RESTORE	r13
	RESTORE	r12
	RESTORE	rbp
	RESTORE	rbx
	ret
END cuzk_fp_add_x64

/* void cuzk_fp_sub_x64(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]) */
FUNCTION cuzk_fp_sub_x64
	SAVE	rbx
	SAVE	rbp
	SAVE	r12
	SAVE	r13
	mov	rax, [rsi]
	mov	rcx, [rsi + 8]
	mov	r8, [rsi + 16]
	mov	r9, [rsi + 24]
	mov	r10, [rsi + 32]
	mov	r11, [rsi + 40]
	sub	rax, [rdx]
	sbb	rcx, [rdx + 8]
	sbb	r8, [rdx + 16]
	sbb	r9, [rdx + 24]
	sbb	r10, [rdx + 32]
	sbb	r11, [rdx + 40]
	sbb	rbx, rbx
	mov	rsi, [rip + p_limbs]
	mov	rdx, [rip + p_limbs + 8]
	mov	rbp, [rip + p_limbs + 16]
	mov	r12, [rip + p_limbs + 24]
	mov	r13, [rip + p_limbs + 32]
	and	rsi, rbx
	and	rdx, rbx
	and	rbp, rbx
	and	r12, rbx
	and	r13, rbx
	and	rbx, [rip + p_limbs + 40]
	add	rax, rsi
	adc	rcx, rdx
	adc	r8, rbp
	adc	r9, r12
	adc	r10, r13
	adc	r11, rbx
	mov	[rdi], rax
	mov	[rdi + 8], rcx
	mov	[rdi + 16], r8
	mov	[rdi + 24], r9
	mov	[rdi + 32], r10
	mov	[rdi + 40], r11
	RESTORE	r13
	RESTORE	r12
	RESTORE	rbp
	RESTORE	rbx
	ret
END cuzk_fp_sub_x64

/* void cuzk_fr_add_x64(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]) */
FUNCTION cuzk_fr_add_x64
	mov	rax, [rsi]
	mov	rcx, [rsi + 8]
	mov	r8, [rsi + 16]
	mov	r9, [rsi + 24]
	add	rax, [rdx]
	adc	rcx, [rdx + 8]
	adc	r8, [rdx + 16]
	adc	r9, [rdx + 24]
	mov	rsi, rax
	mov	rdx, rcx
	mov	r10, r8
	mov	r11, r9
	sub	rax, [rip + r_limbs]
	sbb	rcx, [rip + r_limbs + 8]
	sbb	r8, [rip + r_limbs + 16]
	sbb	r9, [rip + r_limbs + 24]
	cmovc	rax, rsi
	cmovc	rcx, rdx
	cmovc	r8, r10
	cmovc	r9, r11
	mov	[rdi], rax
	mov	[rdi + 8], rcx
	mov	[rdi + 16], r8
	mov	[rdi + 24], r9
	ret
END cuzk_fr_add_x64

/* void cuzk_fr_sub_x64(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]) */
FUNCTION cuzk_fr_sub_x64
	mov	rax, [rsi]
	mov	rcx, [rsi + 8]
	mov	r8, [rsi + 16]
	mov	r9, [rsi + 24]
	sub	rax, [rdx]
	sbb	rcx, [rdx + 8]
	sbb	r8, [rdx + 16]
	sbb	r9, [rdx + 24]
	sbb	rsi, rsi
	mov	rdx, [rip + r_limbs]
	mov	r10, [rip + r_limbs + 8]
	mov	r11, [rip + r_limbs + 16]
	and	rdx, rsi
	and	r10, rsi
	and	r11, rsi
	and	rsi, [rip + r_limbs + 24]
	add	rax, rdx
	adc	rcx, r10
	adc	r8, r11
	adc	r9, rsi
	mov	[rdi], rax
	mov	[rdi + 8], rcx
	mov	[rdi + 16], r8
	mov	[rdi + 24], r9
	ret
END cuzk_fr_sub_x64
