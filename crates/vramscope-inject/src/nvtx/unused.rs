//! The remaining functions of `libnvToolsExt.so.1`. Programs that link the library need them; they do nothing.

use std::ffi::c_void;
use std::ptr::null_mut;

macro_rules! unused {
    ($( $name:ident )*) => { $(
        /// Ignores all arguments. Returns 0 where NVTX expects a result.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> *mut c_void {
            null_mut()
        }
    )* };
}

unused! {
    nvtxInitialize nvtxDomainDestroy
    nvtxNameCategoryA nvtxNameCategoryW nvtxDomainNameCategoryA nvtxDomainNameCategoryW
    nvtxDomainResourceCreate nvtxDomainResourceDestroy
    nvtxDomainSyncUserCreate nvtxDomainSyncUserDestroy nvtxDomainSyncUserAcquireStart
    nvtxDomainSyncUserAcquireFailed nvtxDomainSyncUserAcquireSuccess nvtxDomainSyncUserReleasing

    nvtxNameCuDeviceA nvtxNameCuDeviceW nvtxNameCuContextA nvtxNameCuContextW
    nvtxNameCuStreamA nvtxNameCuStreamW nvtxNameCuEventA nvtxNameCuEventW
    nvtxNameCudaDeviceA nvtxNameCudaDeviceW nvtxNameCudaStreamA nvtxNameCudaStreamW
    nvtxNameCudaEventA nvtxNameCudaEventW

    nvtxNameClDeviceA nvtxNameClDeviceW nvtxNameClContextA nvtxNameClContextW
    nvtxNameClCommandQueueA nvtxNameClCommandQueueW nvtxNameClMemObjectA nvtxNameClMemObjectW
    nvtxNameClSamplerA nvtxNameClSamplerW nvtxNameClProgramA nvtxNameClProgramW
    nvtxNameClEventA nvtxNameClEventW
}
