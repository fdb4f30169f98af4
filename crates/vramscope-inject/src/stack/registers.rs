//! The registers from which unwinding starts, and framehop's types for this processor.

use super::modules::Section;
use super::traces::Start;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};

#[cfg(target_arch = "x86_64")]
pub(super) type Unwinder = UnwinderX86_64<Section>;
#[cfg(target_arch = "x86_64")]
pub(super) type Rules = CacheX86_64;
#[cfg(target_arch = "x86_64")]
type State = UnwindRegsX86_64;

#[cfg(target_arch = "aarch64")]
pub(super) type Unwinder = UnwinderAarch64<Section>;
#[cfg(target_arch = "aarch64")]
pub(super) type Rules = CacheAarch64;
#[cfg(target_arch = "aarch64")]
type State = UnwindRegsAarch64;

/// Position of a thread in its code and on its stack.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    instruction: u64,
    stack: u64,
    frame: u64,
    /// The link register.
    #[cfg(target_arch = "aarch64")]
    link: u64,
}

impl Registers {
    /// The registers of the calling function.
    #[inline(always)]
    pub(super) fn here() -> Self {
        let (instruction, stack, frame): (u64, u64, u64);
        #[cfg(target_arch = "aarch64")]
        let link: u64;
        // SAFETY: only copies registers.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            core::arch::asm!(
                "lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp",
                out(reg) instruction, out(reg) stack, out(reg) frame,
                options(nomem, nostack, preserves_flags),
            );
        }
        // SAFETY: only copies registers.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            core::arch::asm!(
                "adr {0}, .", "mov {1}, sp", "mov {2}, x29", "mov {3}, x30",
                out(reg) instruction, out(reg) stack, out(reg) frame, out(reg) link,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self {
            instruction,
            stack,
            frame,
            #[cfg(target_arch = "aarch64")]
            link,
        }
    }

    pub(super) fn instruction_pointer(self) -> u64 {
        self.instruction
    }

    pub(super) fn stack_pointer(self) -> u64 {
        self.stack
    }

    /// The key under which a stack that begins here is stored.
    pub(super) fn start(self, depth: usize) -> Start {
        Start {
            stack_pointer: self.stack,
            frame_pointer: self.frame,
            depth,
        }
    }

    /// Registers for framehop. `mask` has the bits of a return address that belong to the address.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn for_unwinder(self, _mask: u64) -> State {
        UnwindRegsX86_64::new(self.instruction, self.stack, self.frame)
    }

    /// Registers for framehop. `mask` has the bits of a return address that belong to the address.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn for_unwinder(self, mask: u64) -> State {
        UnwindRegsAarch64::new_with_ptr_auth_mask(
            PtrAuthMask(mask),
            self.link,
            self.stack,
            self.frame,
        )
    }
}

/// The bits of a return address that belong to the address, if no address is above `highest`.
pub(super) fn address_mask(highest: u64) -> u64 {
    if cfg!(target_arch = "aarch64") {
        // The other bits may hold a signature (pointer authentication).
        u64::MAX >> highest.leading_zeros().min(u64::BITS - 1)
    } else {
        u64::MAX
    }
}
