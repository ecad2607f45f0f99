"""Load and run classic BPF programs, as the kernel does for seccomp.

Instructions that AdaCoder's filters do not use are refused. See seccomp(2), linux/filter.h, and the kernel's
`bpf_check_classic` and `seccomp_check_filter`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

INSTRUCTION = struct.Struct("<HBBI")
MOST_INSTRUCTIONS = 4096
DATA = struct.Struct("<IIQ6Q")
"""`struct seccomp_data`: the number of the system call, the architecture, the instruction pointer and six arguments."""

LOAD, AND, RETURN = 0x20, 0x54, 0x06
IF_EQUAL, IF_GREATER, IF_AT_LEAST, IF_ANY_BIT = 0x15, 0x25, 0x35, 0x45
JUMPS = frozenset({IF_EQUAL, IF_GREATER, IF_AT_LEAST, IF_ANY_BIT})

ALLOW: Final = "allow"
KILL: Final = "kill the process"
Answer: TypeAlias = str | int
"""ALLOW, KILL, or the errno with which the call fails."""


class Refused(Exception):
    """The kernel would refuse to load this program."""


@dataclass(frozen=True)
class Call:
    """A system call as a filter sees it."""

    architecture: int
    number: int
    arguments: tuple[int, ...] = ()

    @property
    def data(self) -> bytes:
        padded = (*self.arguments, *[0] * (6 - len(self.arguments)))
        return DATA.pack(self.number, self.architecture, 0, *(value % 2**64 for value in padded))


@dataclass(frozen=True)
class Instruction:
    code: int
    if_true: int
    if_false: int
    operand: int


def load(program: bytes) -> list[Instruction]:
    """Return the instructions of a program. Raise Refused if the kernel would refuse it."""
    if len(program) % INSTRUCTION.size or not 0 < len(program) // INSTRUCTION.size <= MOST_INSTRUCTIONS:
        raise Refused(f"{len(program)} bytes")
    steps = [Instruction(*fields) for fields in INSTRUCTION.iter_unpack(program)]
    for place, step in enumerate(steps):
        if step.code == LOAD:
            if step.operand % 4 or step.operand >= DATA.size:
                raise Refused(f"{place}: loads from {step.operand}")
        elif step.code in JUMPS:
            if place + 1 + max(step.if_true, step.if_false) >= len(steps):
                raise Refused(f"{place}: jumps out of the program")
        elif step.code not in (AND, RETURN):
            raise Refused(f"{place}: unknown instruction {step.code:#x}")
    if steps[-1].code != RETURN:
        raise Refused("does not end in an answer")
    return steps


def run(program: bytes, call: Call) -> Answer:
    """Return the program's answer to a system call."""
    steps, accumulator, place = load(program), 0, 0
    while (step := steps[place]).code != RETURN:
        place += 1
        if step.code == LOAD:
            (accumulator,) = struct.unpack_from("<I", call.data, step.operand)
        elif step.code == AND:
            accumulator &= step.operand
        else:
            place += step.if_true if holds(step, accumulator) else step.if_false
    return meaning(step.operand)


def holds(step: Instruction, accumulator: int) -> bool:
    if step.code == IF_EQUAL:
        return accumulator == step.operand
    if step.code == IF_GREATER:
        return accumulator > step.operand
    if step.code == IF_AT_LEAST:
        return accumulator >= step.operand
    return accumulator & step.operand != 0


def meaning(result: int) -> Answer:
    """Translate a filter's result: SECCOMP_RET_ALLOW, _KILL_PROCESS or _ERRNO."""
    action, value = result & 0xFFFF_0000, result & 0xFFFF
    if action == 0x0005_0000 and 0 <= value < 4096:
        return value
    return {0x7FFF_0000: ALLOW, 0x8000_0000: KILL}[result]
