//! Runs when this library is loaded, when the process forks, and when it ends.

use crate::{dlsym, hook, hooks, log, nvtx, ranges};

/// Note for a program that loaded the driver but made no recorded call, and would otherwise have no log.
const BYPASSED: &str = "the CUDA driver was loaded, but no memory call was recorded: either the program made \
    none, or it looks up the driver in a way that bypasses the injected library (RTLD_DEEPBIND, dlmopen)";

/// Runs when the library is loaded: before the program, which may change its environment.
extern "C" fn on_load() {
    let prepare = || {
        // SAFETY: before other threads of this library exist. Children can allocate whatever other threads did.
        unsafe { dlmalloc::enable_alloc_after_fork() };
        if log::settings().is_some() {
            log::rank();
            if let Some(remark) = dlsym::remark() {
                log::note_later(remark);
            }
            hooks::stand_before_next();
            // SAFETY: the handler only touches atomics and thread-local variables, and tries locks.
            unsafe { libc::pthread_atfork(None, None, Some(after_fork)) };
        }
    };
    log::guard(prepare);
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = on_load;

/// Runs in the child of a fork.
extern "C" fn after_fork() {
    ranges::after_fork();
    log::after_fork(nvtx::is_unlocked());
}

/// Runs when the program ends normally.
extern "C" fn on_exit() {
    if log::is_undecided() {
        log::guard(|| {
            log::write_early_losses();
            if hook::is_bypassed() {
                log::note(BYPASSED);
            }
        });
    }
    log::end();
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = on_exit;
