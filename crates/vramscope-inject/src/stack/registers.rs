//! The registers that unwinding starts from, and framehop's types for this processor.

use super::modules::Section;

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

/// Where a thread is, and where its stack is.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    instruction: u64,
    stack: u64,
    frame: u64,
    /// The link register; 0 on x86-64.
    link: u64,
}

impl Registers {
    /// Those of the function that calls it.
    #[inline(always)]
    pub(super) fn here() -> Self {
        let (instruction, stack, frame): (u64, u64, u64);
        #[cfg(target_arch = "x86_64")]
        let link = 0;
        #[cfg(target_arch = "aarch64")]
        let link: u64;
        // SAFETY: Only copies registers.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            core::arch::asm!(
                "lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp",
                out(reg) instruction, out(reg) stack, out(reg) frame,
                options(nomem, nostack, preserves_flags),
            );
        }
        // SAFETY: Only copies registers.
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
            link,
        }
    }

    pub(super) fn instruction_pointer(self) -> u64 {
        self.instruction
    }

    pub(super) fn stack_pointer(self) -> u64 {
        self.stack
    }

    /// As framehop takes them. `highest` is the highest address of code.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn for_unwinder(self, _highest: u64) -> State {
        debug_assert_eq!(self.link, 0);
        UnwindRegsX86_64::new(self.instruction, self.stack, self.frame)
    }

    /// As framehop takes them. `highest` is the highest address of code.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn for_unwinder(self, highest: u64) -> State {
        // Return addresses may be signed in the bits above those of addresses. Stacks are as high as addresses go.
        let mask = PtrAuthMask::from_max_known_address(highest.max(self.stack));
        UnwindRegsAarch64::new_with_ptr_auth_mask(mask, self.link, self.stack, self.frame)
    }
}
