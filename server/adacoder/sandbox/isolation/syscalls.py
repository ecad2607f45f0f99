"""Numbers of the Linux system calls that the seccomp filters name.

The numbers are from the tables of Linux 6.18: arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NEWEST = 469
"""The newest call in the table: file_setattr. From 424 on, numbers are the same on all machines."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor architecture and its numbers of system calls."""

    architecture: int
    """The machine's AUDIT_ARCH, as in linux/audit.h."""
    unassigned: range
    """Numbers that no call has, between the machine's own calls and the calls that all machines share."""
    column: int
    """Column of `_TABLE` with the machine's numbers."""

    def numbers(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers of the named calls, without calls that the machine lacks."""
        numbers = [_SHARED.get(name) or _TABLE[name][self.column] for name in names]
        return tuple(number for number in numbers if number is not None)


_TABLE: Mapping[str, tuple[int | None, int | None]] = {
    # x86-64, arm64
    "open": (2, None),
    "mmap": (9, 222),
    "ioctl": (16, 29),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendmsg": (46, 211),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "kill": (62, 129),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "fcntl": (72, 25),
    "flock": (73, 32),
    "truncate": (76, 45),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setgroups": (116, 159),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "capset": (126, 91),
    "rt_sigqueueinfo": (129, 138),
    "utime": (132, None),
    "mknod": (133, None),
    "personality": (135, 92),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "mlock": (149, 228),
    "mlockall": (151, 230),
    "vhangup": (153, 58),
    "modify_ldt": (154, None),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "adjtimex": (159, 171),
    "chroot": (161, 51),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "tkill": (200, 130),
    "sched_setaffinity": (203, 122),
    "lookup_dcookie": (212, 18),
    "io_setup": (206, 0),
    "semtimedop": (220, 192),
    "clock_settime": (227, 112),
    "tgkill": (234, 131),
    "utimes": (235, None),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ioprio_set": (251, 30),
    "inotify_init": (253, None),
    "inotify_add_watch": (254, 27),
    "migrate_pages": (256, 238),
    "openat": (257, 56),
    "mknodat": (259, 33),
    "fchownat": (260, 54),
    "futimesat": (261, None),
    "fchmodat": (268, 53),
    "unshare": (272, 97),
    "vmsplice": (278, 75),
    "move_pages": (279, 239),
    "utimensat": (280, 88),
    "accept4": (288, 242),
    "rt_tgsigqueueinfo": (297, 240),
    "perf_event_open": (298, 241),
    "inotify_init1": (294, 26),
    "recvmmsg": (299, 243),
    "fanotify_init": (300, 262),
    "prlimit64": (302, 261),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "clock_adjtime": (305, 266),
    "sendmmsg": (307, 269),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "sched_setattr": (314, 274),
    "kexec_file_load": (320, 294),
    "memfd_create": (319, 279),
    "bpf": (321, 280),
    "execveat": (322, 281),
    "userfaultfd": (323, 282),
    "mlock2": (325, 284),
}

_SHARED: Mapping[str, int] = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "set_mempolicy_home_node": 450,
    "fchmodat2": 452,
    "lsm_set_self_attr": 460,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}

MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(architecture=0xC000003E, unassigned=range(337, 424), column=0),
    "aarch64": Machine(architecture=0xC00000B7, unassigned=range(295, 424), column=1),
}
"""Machines by their names in uname(2)."""
