/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* int checked_call(void *fn, void *r, const void *a, const void *b): calls fn(r, a, b) and tells in bits which of rbx, r12, r13, r14,
 * r15, rbp, rsp and the direction flag it did not give back as it got them. */
	.intel_syntax noprefix
	.text
	.globl	checked_call
	.type	checked_call, @function
checked_call:
	push	rbp
	push	rbx
	push	r12
	push	r13
	push	r14
	push	r15
	sub	rsp, 24
	mov	rax, rdi
	mov	rdi, rsi
	mov	rsi, rdx
	mov	rdx, rcx
	movabs	rbx, 0x1111222233334444
	movabs	r12, 0x2222333344445555
	movabs	r13, 0x3333444455556666
	movabs	r14, 0x4444555566667777
	movabs	r15, 0x5555666677778888
	mov	rbp, rsp
	call	rax
	xor	eax, eax
	movabs	rcx, 0x1111222233334444
	cmp	rbx, rcx
	je	1f
	or	eax, 1
1:	movabs	rcx, 0x2222333344445555
	cmp	r12, rcx
	je	2f
	or	eax, 2
2:	movabs	rcx, 0x3333444455556666
	cmp	r13, rcx
	je	3f
	or	eax, 4
3:	movabs	rcx, 0x4444555566667777
	cmp	r14, rcx
	je	4f
	or	eax, 8
4:	movabs	rcx, 0x5555666677778888
	cmp	r15, rcx
	je	5f
	or	eax, 16
5:	cmp	rbp, rsp
	je	6f
	or	eax, 32
6:	pushfq
	pop	rcx
	test	ecx, 0x400
	je	7f
	or	eax, 64
	cld
7:	add	rsp, 24
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbx
	pop	rbp
	ret
	.size	checked_call, .-checked_call
	.section .note.GNU-stack,"",@progbits
