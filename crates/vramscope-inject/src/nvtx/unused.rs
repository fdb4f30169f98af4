//! The remaining functions of `libnvToolsExt.so.1`, which programs that link it need. They only call the real library's
//! function, if there is one.

use std::ffi::c_void;

use super::next::Next;

macro_rules! unused {
    ($( $name:ident )*) => { $(
        /// Takes as many arguments as any of these functions. Returns 0 where NVTX expects a result.
        ///
        /// # Safety
        /// As for the function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(first: usize, second: usize) -> usize {
            static NEXT: Next = Next::new(concat!(stringify!($name), "\0"));
            let next = NEXT.find($name as *const c_void);
            if next.is_null() {
                return 0;
            }
            // SAFETY: the function of this name takes up to two integers or pointers, which are the caller's; functions
            // with fewer ignore the rest.
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, usize) -> usize>(next)(first, second) }
        }
    )* };
}

unused! {
    nvtxInitialize nvtxDomainDestroy
    nvtxDomainResourceCreate nvtxDomainResourceDestroy
    nvtxDomainSyncUserCreate nvtxDomainSyncUserDestroy nvtxDomainSyncUserAcquireStart
    nvtxDomainSyncUserAcquireFailed nvtxDomainSyncUserAcquireSuccess nvtxDomainSyncUserReleasing

    nvtxNameCuEventA nvtxNameCuEventW nvtxNameCudaEventA nvtxNameCudaEventW

    nvtxNameClDeviceA nvtxNameClDeviceW nvtxNameClContextA nvtxNameClContextW
    nvtxNameClCommandQueueA nvtxNameClCommandQueueW nvtxNameClMemObjectA nvtxNameClMemObjectW
    nvtxNameClSamplerA nvtxNameClSamplerW nvtxNameClProgramA nvtxNameClProgramW
    nvtxNameClEventA nvtxNameClEventW
}
