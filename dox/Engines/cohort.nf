// Registers the pairs of pairs.tsv in jobs of two processors, then writes the tables and the index. Run it by
//   nextflow run cohort.nf
// Written by Nextflow's manual; nobody has run it yet.
params.table = "$launchDir/pairs.tsv"
params.out = "$launchDir/results"
params.parameters = "$launchDir/Rigid.txt,$launchDir/FreeFormNMI.txt"
params.shards = 4

// Code 7 says that some rows failed. The others are done, and failures.tsv tells the causes.
process shard {
    cpus 2

    input:
    val n

    output:
    val n

    script:
    def files = params.parameters.split(',').collect { "-p '$it'" }.join(' ')
    """
    tessera-cohort run '${params.table}' -out '${params.out}' $files -threads ${task.cpus} --shard $n/${params.shards} || [ \$? = 7 ]
    """
}

process tables {
    input:
    val done

    script:
    """
    tessera-cohort table '${params.out}' && tessera-cohort report '${params.out}'
    """
}

workflow {
    shard(Channel.of(1..params.shards))
    tables(shard.out.collect())
}
