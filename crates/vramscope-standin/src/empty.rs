//! Functions that do nothing and succeed: all others that some torch from 2.0 to 2.15 needs in order to load, by
//! library.

macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> i32 {
            0
        }
    )*};
}

nothing! {
    // the runtime
    __cudaInitModule __cudaPushCallConfiguration __cudaRegisterFatBinaryEnd __cudaRegisterFunction
    __cudaRegisterManagedVar __cudaRegisterSurface __cudaRegisterTexture __cudaRegisterVar __cudaUnregisterFatBinary
    cudaDeviceEnablePeerAccess cudaDeviceReset cudaDeviceSetCacheConfig cudaDeviceSetGraphMemAttribute
    cudaDeviceSetLimit cudaDeviceSynchronize cudaEventDestroy cudaEventRecord cudaEventRecordWithFlags
    cudaEventSynchronize cudaFuncSetAttribute cudaFuncSetCacheConfig cudaGetLastError cudaGraphAddNode
    cudaGraphConditionalHandleCreate cudaGraphDebugDotPrint cudaGraphDestroy cudaGraphExecDestroy cudaGraphLaunch
    cudaGraphNodeGetDependencies cudaGraphRetainUserObject cudaGraphUpload cudaKernelSetAttributeForDevice
    cudaLaunchCooperativeKernel cudaLibraryUnload cudaMemAdvise
    cudaMemPoolSetAccess cudaMemPoolSetAttribute cudaMemPoolTrimTo cudaMemPrefetchAsync cudaMemcpyPeerAsync
    cudaMemcpyToSymbol cudaMemset cudaMemsetAsync cudaPeekAtLastError cudaProfilerInitialize cudaProfilerStart
    cudaProfilerStop cudaSetDeviceFlags cudaStreamAttachMemAsync cudaStreamDestroy cudaStreamQuery
    cudaStreamSynchronize cudaStreamUpdateCaptureDependencies cudaStreamWaitEvent
    cudaThreadExchangeStreamCaptureMode cudaUserObjectCreate cudaUserObjectRelease
    // cuBLAS: kernels, and settings
    cublasCaxpy_v2 cublasCcopy_v2 cublasCdotc_v2 cublasCdotu_v2 cublasCgelsBatched cublasCgemmBatched
    cublasCgemmStridedBatched cublasCgemm_v2 cublasCgemv_v2 cublasCgeqrfBatched cublasCgerc_v2 cublasCgeru_v2
    cublasCgetrfBatched cublasCgetrsBatched cublasChemm_v2 cublasChemv_v2 cublasCher2_v2 cublasCher2k_v2
    cublasCher_v2 cublasCherk_v2 cublasCrot_v2 cublasCrotg_v2 cublasCscal_v2 cublasCsrot_v2 cublasCsscal_v2
    cublasCswap_v2 cublasCsymm_v2 cublasCsymv_v2 cublasCsyr2_v2 cublasCsyr2k_v2 cublasCsyr_v2 cublasCsyrk_v2
    cublasCtrmm_v2 cublasCtrmv_v2 cublasCtrsmBatched cublasCtrsm_v2 cublasCtrsv_v2 cublasDasum_v2 cublasDaxpy_v2
    cublasDcopy_v2 cublasDdot_v2 cublasDestroy_v2 cublasDgelsBatched cublasDgemmBatched cublasDgemmStridedBatched
    cublasDgemm_v2 cublasDgemv_v2 cublasDgeqrfBatched cublasDger_v2 cublasDgetrfBatched cublasDgetrsBatched
    cublasDnrm2_v2 cublasDotEx cublasDrot_v2 cublasDrotg_v2 cublasDrotm_v2 cublasDrotmg_v2 cublasDscal_v2
    cublasDswap_v2 cublasDsymm_v2 cublasDsymv_v2 cublasDsyr2_v2 cublasDsyr2k_v2 cublasDsyr_v2 cublasDsyrk_v2
    cublasDtrmm_v2 cublasDtrmv_v2 cublasDtrsmBatched cublasDtrsm_v2 cublasDtrsv_v2 cublasDzasum_v2 cublasDznrm2_v2
    cublasGemmEx cublasGemmStridedBatchedEx cublasGetMatrixAsync cublasGetVectorAsync cublasIcamax_v2
    cublasIcamin_v2 cublasIdamax_v2 cublasIdamin_v2 cublasIsamax_v2 cublasIsamin_v2 cublasIzamax_v2 cublasIzamin_v2
    cublasLtDestroy cublasLtMatmulAlgoCheck cublasLtMatmulAlgoConfigGetAttribute
    cublasLtMatmulAlgoConfigSetAttribute cublasLtMatmulAlgoInit cublasLtMatmulDescDestroy
    cublasLtMatmulDescSetAttribute cublasLtMatmulPreferenceDestroy cublasLtMatmulPreferenceSetAttribute
    cublasLtMatrixLayoutDestroy cublasLtMatrixLayoutSetAttribute cublasSasum_v2 cublasSaxpy_v2 cublasScasum_v2
    cublasScnrm2_v2 cublasScopy_v2 cublasSdot_v2 cublasSetMathMode cublasSetMatrixAsync cublasSetPointerMode_v2
    cublasSetSmCountTarget cublasSetStream_v2 cublasSetVectorAsync cublasSgelsBatched cublasSgemmBatched
    cublasSgemmEx cublasSgemmStridedBatched cublasSgemm_v2 cublasSgemv_v2 cublasSgeqrfBatched cublasSger_v2
    cublasSgetrfBatched cublasSgetrsBatched cublasSnrm2_v2 cublasSrot_v2 cublasSrotg_v2 cublasSrotm_v2
    cublasSrotmg_v2 cublasSscal_v2 cublasSswap_v2 cublasSsymm_v2 cublasSsymv_v2 cublasSsyr2_v2 cublasSsyr2k_v2
    cublasSsyr_v2 cublasSsyrk_v2 cublasStrmm_v2 cublasStrmv_v2 cublasStrsmBatched cublasStrsm_v2 cublasStrsv_v2
    cublasZaxpy_v2 cublasZcopy_v2 cublasZdotc_v2 cublasZdotu_v2 cublasZdrot_v2 cublasZdscal_v2 cublasZgelsBatched
    cublasZgemmBatched cublasZgemmStridedBatched cublasZgemm_v2 cublasZgemv_v2 cublasZgeqrfBatched cublasZgerc_v2
    cublasZgeru_v2 cublasZgetrfBatched cublasZgetrsBatched cublasZhemm_v2 cublasZhemv_v2 cublasZher2_v2
    cublasZher2k_v2 cublasZher_v2 cublasZherk_v2 cublasZrot_v2 cublasZrotg_v2 cublasZscal_v2 cublasZswap_v2
    cublasZsymm_v2 cublasZsymv_v2 cublasZsyr2_v2 cublasZsyr2k_v2 cublasZsyr_v2 cublasZsyrk_v2 cublasZtrmm_v2
    cublasZtrmv_v2 cublasZtrsmBatched cublasZtrsm_v2 cublasZtrsv_v2
    // cuDNN
    cudnnBackendDestroyDescriptor cudnnBackendExecute cudnnBackendFinalize cudnnBatchNormalizationBackwardEx
    cudnnBatchNormalizationForwardInference cudnnBatchNormalizationForwardTrainingEx
    cudnnDestroyActivationDescriptor cudnnDestroyCTCLossDescriptor cudnnDestroyConvolutionDescriptor
    cudnnDestroyDropoutDescriptor cudnnDestroyFilterDescriptor
    cudnnDestroySpatialTransformerDescriptor
    cudnnGetLastErrorString cudnnPoolingForward cudnnSetActivationDescriptor cudnnSetConvolutionGroupCount cudnnSetConvolutionMathType
    cudnnSetConvolutionNdDescriptor cudnnSetDropoutDescriptor cudnnSetFilterNdDescriptor cudnnSetPooling2dDescriptor
    cudnnSetStream cudnnSetTensorNdDescriptor
    cudnnCTCLoss cudnnCTCLoss_v8 cudnnSetCTCLossDescriptorEx cudnnSetCTCLossDescriptor_v9
    cudnnSetSpatialTransformerNdDescriptor cudnnSpatialTfGridGeneratorBackward cudnnSpatialTfGridGeneratorForward
    cudnnSpatialTfSamplerBackward cudnnSpatialTfSamplerForward
    // cuFFT, cuSOLVER, cuSPARSE
    cufftDestroy cufftSetAutoAllocation cufftSetStream cufftSetWorkArea cufftXtExec cusolverDnDestroy
    cusolverDnDestroyGesvdjInfo cusolverDnDestroyParams cusolverDnDestroySyevjInfo cusolverDnSetStream
    cusparseDestroy cusparseDestroyBsrsm2Info cusparseDestroyBsrsv2Info cusparseDestroyDnMat cusparseDestroyDnVec
    cusparseDestroyMatDescr cusparseDestroySpMat cusparseLtInit cusparseLtMatDescriptorDestroy
    cusparseLtMatmulPlanDestroy cusparseSetMatDiagType cusparseSetMatFillMode cusparseSetMatIndexBase
    cusparseSetMatType cusparseSetPointerMode cusparseSetStream
    // what cuSOLVER and cuSPARSE compute
    cusolverDnCgeqrf cusolverDnCgesvd cusolverDnCgesvdaStridedBatched cusolverDnCgesvdj cusolverDnCgesvdjBatched
    cusolverDnCgetrf cusolverDnCgetrs cusolverDnCheevd cusolverDnCheevj cusolverDnCheevjBatched cusolverDnCpotrf
    cusolverDnCpotrfBatched cusolverDnCpotrs cusolverDnCpotrsBatched cusolverDnCsytrf cusolverDnCungqr
    cusolverDnCunmqr cusolverDnDgeqrf cusolverDnDgesvd cusolverDnDgesvdaStridedBatched cusolverDnDgesvdj
    cusolverDnDgesvdjBatched cusolverDnDgetrf cusolverDnDgetrs cusolverDnDorgqr cusolverDnDormqr cusolverDnDpotrf
    cusolverDnDpotrfBatched cusolverDnDpotrs cusolverDnDpotrsBatched cusolverDnDsyevd cusolverDnDsyevj
    cusolverDnDsyevjBatched cusolverDnDsytrf cusolverDnSgeqrf cusolverDnSgesvd cusolverDnSgesvdaStridedBatched
    cusolverDnSgesvdj cusolverDnSgesvdjBatched cusolverDnSgetrf cusolverDnSgetrs cusolverDnSorgqr cusolverDnSormqr
    cusolverDnSpotrf cusolverDnSpotrfBatched cusolverDnSpotrs cusolverDnSpotrsBatched cusolverDnSsyevd
    cusolverDnSsyevj cusolverDnSsyevjBatched cusolverDnSsytrf cusolverDnXgeev cusolverDnXgeqrf
    cusolverDnXgesvdjSetMaxSweeps cusolverDnXgesvdjSetSortEig cusolverDnXgesvdjSetTolerance cusolverDnXpotrf
    cusolverDnXpotrs cusolverDnXsyevBatched cusolverDnXsyevd cusolverDnXsyevjSetSortEig cusolverDnXsytrs
    cusolverDnZgeqrf cusolverDnZgesvd cusolverDnZgesvdaStridedBatched cusolverDnZgesvdj cusolverDnZgesvdjBatched
    cusolverDnZgetrf cusolverDnZgetrs cusolverDnZheevd cusolverDnZheevj cusolverDnZheevjBatched cusolverDnZpotrf
    cusolverDnZpotrfBatched cusolverDnZpotrs cusolverDnZpotrsBatched cusolverDnZsytrf cusolverDnZungqr
    cusolverDnZunmqr cusparseCsrSetPointers cusparseCsrSetStridedBatch cusparseDnMatSetStridedBatch cusparseSDDMM
    cusparseSDDMM_preprocess cusparseSpMM cusparseSpMV cusparseSpMatSetAttribute cusparseSpSM_analysis
    cusparseSpSM_destroyDescr cusparseSpSM_solve cusparseSpSV_analysis cusparseSpSV_destroyDescr cusparseSpSV_solve
    // NCCL
    ncclCommAbort ncclCommDeregister ncclCommDestroy ncclCommFinalize ncclCommResume ncclCommRevoke ncclCommSuspend
    ncclGroupEnd ncclGroupSimulateEnd ncclGroupStart ncclRedOpDestroy
    // CUPTI, NVRTC, NVTX, NVML
    cuptiActivityDisable cuptiActivityEnable cuptiActivityEnableCudaEventDeviceTimestamps
    cuptiActivityEnableDriverApi cuptiActivityEnableRuntimeApi cuptiActivityFlushAll
    cuptiActivityPopExternalCorrelationId cuptiActivityPushExternalCorrelationId cuptiActivityRegisterCallbacks
    cuptiActivityRegisterTimestampCallback cuptiActivitySetAttribute cuptiEnableCallback cuptiEnableDomain
    cuptiEventGetAttribute cuptiEventGetIdFromName cuptiEventGroupGetAttribute cuptiEventGroupReadEvent
    cuptiEventGroupSetAttribute cuptiEventGroupSetDisable cuptiEventGroupSetEnable cuptiEventGroupSetsCreate
    cuptiEventGroupSetsDestroy cuptiFinalize cuptiGetDeviceId cuptiMetricEnumEvents cuptiMetricGetAttribute
    cuptiMetricGetIdFromName cuptiMetricGetNumEvents cuptiMetricGetValue cuptiSetEventCollectionMode
    cuptiUnsubscribe nvmlInit_v2 nvmlShutdown nvrtcAddNameExpression nvrtcCompileProgram nvrtcDestroyProgram
    nvtxMarkA nvtxRangeEnd nvtxRangePop nvtxRangePushA nvtxRangeStartA
    // the driver
    cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 cuCtxSynchronize cuDevicePrimaryCtxRelease_v2
    cuDevicePrimaryCtxSetFlags_v2 cuEventRecord cuEventSynchronize cuFuncSetAttribute cuFuncSetCacheConfig cuInit
    cuLaunchCooperativeKernel cuLaunchKernel cuLaunchKernelEx cuLinkAddData_v2 cuLinkComplete cuMemAddressFree
    cuMemMap cuMemSetAccess cuMemUnmap cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async cuMemsetD8_v2 cuModuleUnload
    cuMulticastAddDevice cuMulticastBindMem cuMulticastUnbind cuStreamSynchronize cuStreamWaitEvent
    cuStreamWaitValue32 cuStreamWaitValue32_v2 cuStreamWriteValue32 cuStreamWriteValue32_v2 cuTensorMapEncodeTiled
}
