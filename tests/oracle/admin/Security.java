import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterClientQuotasOptions;
import org.apache.kafka.clients.admin.AlterUserScramCredentialsOptions;
import org.apache.kafka.clients.admin.CreateAclsOptions;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.DeleteAclsOptions;
import org.apache.kafka.clients.admin.DescribeAclsOptions;
import org.apache.kafka.clients.admin.DescribeClientQuotasOptions;
import org.apache.kafka.clients.admin.DescribeDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeUserScramCredentialsOptions;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.admin.RenewDelegationTokenOptions;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** Who may do what, and how much of it: ACLs, credentials, tokens and quotas. */
final class Security {
    static void sweep(Sweep sweep) throws Exception {
        acls(sweep);
        tokens(sweep);
        quotas(sweep);
        credentials(sweep);
    }

    private static void acls(Sweep sweep) {
        AclBinding binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "settled", PatternType.LITERAL),
            new AccessControlEntry("User:k", "*", AclOperation.READ, AclPermissionType.ALLOW));
        List<AclBindingFilter> filters = List.of(AclBindingFilter.ANY);
        sweep.ask("short", admin -> admin.describeAcls(AclBindingFilter.ANY));
        sweep.ask("with options", admin -> admin.describeAcls(AclBindingFilter.ANY, new DescribeAclsOptions()));
        sweep.ask("short", admin -> admin.createAcls(List.of(binding)));
        sweep.ask("with options", admin -> admin.createAcls(List.of(binding), new CreateAclsOptions()));
        sweep.ask("short", admin -> admin.deleteAcls(filters));
        sweep.ask("with options", admin -> admin.deleteAcls(filters, new DeleteAclsOptions()));
    }

    private static void tokens(Sweep sweep) {
        byte[] token = {1, 2, 3};
        sweep.ask("short", Admin::createDelegationToken);
        sweep.ask("with options", admin -> admin.createDelegationToken(new CreateDelegationTokenOptions()));
        sweep.ask("short", admin -> admin.renewDelegationToken(token));
        sweep.ask("with options", admin -> admin.renewDelegationToken(token, new RenewDelegationTokenOptions()));
        sweep.ask("short", admin -> admin.expireDelegationToken(token));
        sweep.ask("with options", admin -> admin.expireDelegationToken(token, new ExpireDelegationTokenOptions()));
        sweep.ask("short", Admin::describeDelegationToken);
        sweep.ask("with options", admin -> admin.describeDelegationToken(new DescribeDelegationTokenOptions()));
    }

    private static void quotas(Sweep sweep) throws Exception {
        ClientQuotaAlteration alteration = new ClientQuotaAlteration(new ClientQuotaEntity(Map.of("user", "k")),
            List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e6)));
        sweep.ask("short", admin -> admin.alterClientQuotas(List.of(alteration)));
        sweep.ask("with options", admin -> admin.alterClientQuotas(List.of(alteration),
            new AlterClientQuotasOptions().validateOnly(true)));
        sweep.until(admin -> !admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().isEmpty());
        sweep.ask("short", admin -> admin.describeClientQuotas(ClientQuotaFilter.all()));
        sweep.ask("with options", admin -> admin.describeClientQuotas(ClientQuotaFilter.all(),
            new DescribeClientQuotasOptions()));
    }

    private static void credentials(Sweep sweep) throws Exception {
        ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        List<UserScramCredentialAlteration> add = List.of(new UserScramCredentialUpsertion("k", info, "castle"));
        List<UserScramCredentialAlteration> drop =
            List.of(new UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_256));
        sweep.ask("short", admin -> admin.alterUserScramCredentials(add));
        sweep.until(admin -> admin.describeUserScramCredentials().users().get().contains("k"));
        sweep.ask("with options", admin -> admin.alterUserScramCredentials(drop, new AlterUserScramCredentialsOptions()));
        sweep.ask("all", admin -> admin.describeUserScramCredentials().users());
        sweep.ask("some", admin -> admin.describeUserScramCredentials(List.of("nobody")).users());
        sweep.ask("with options", admin -> admin.describeUserScramCredentials(List.of("nobody"),
            new DescribeUserScramCredentialsOptions()).users());
    }
}
